// Elements of any data type that hold small integers, and what calls make of them.
#pragma once

#include <cstddef>
#include <optional>

#include <paceline/types.h>

#include "comm/base/function_ref.h"
#include "comm/bytes.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

class Elements {
 public:
  Elements(DataType type, std::size_t count) : type_(type), bytes_(count * size_of(type)) {}

  using ValueAt = FunctionRef<int(std::size_t index)>;

  void* data() { return bytes_.data(); }
  /// Sets every element. The values must repeat after kPeriod elements, which makes this, and
  /// first_other(), about as fast as copying.
  void fill(ValueAt value_at);
  /// The index of the first element that has another value; nothing where all are as they should.
  std::optional<std::size_t> first_other(ValueAt value_at) const;

 private:
  std::size_t count() const { return bytes_.size() / size_of(type_); }
  void set(std::size_t index, int value);
  bool is(std::size_t index, int value) const;
  bool repeats() const;

  DataType type_;
  Bytes bytes_;
};

/// After so many elements inputs repeat, and so do results. Prime, so that no segment begins where
/// another could without its being seen.
inline constexpr std::size_t kPeriod = 101;

/// What a rank puts in: differs between neighbours in rank, in call and in place.
int input_of(int rank, std::size_t call, std::size_t index);

/// What a broadcast or all_reduce gives to every one of `ranks` ranks.
int result_of(const Call& call, std::size_t call_index, std::size_t index, int ranks);

}  // namespace paceline::testing
