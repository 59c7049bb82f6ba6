// Elements of any data type, what ranks put into their calls, and what has to come out.
//
// Values are integers so small that sums and products of them are exact in every type, whatever the
// order, up to 32 ranks; where they do not fit (negative ones in unsigned types), they wrap as sums
// do. What comes out is what the plain kernels make of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <paceline/reduce_rule.h>
#include <paceline/types.h>

#include "comm/base/function_ref.h"
#include "comm/bytes.h"

namespace paceline::testing {

/// After so many elements inputs repeat, and so do results. Prime, so that no segment begins where
/// another could without its being seen.
inline constexpr std::size_t kPeriod = 101;

class Elements {
 public:
  Elements(DataType type, std::size_t count) : type_(type), bytes_(count * size_of(type)) {}

  using ValueAt = FunctionRef<int(std::size_t index)>;

  void* data() { return bytes_.data(); }
  const void* data() const { return bytes_.data(); }
  DataType type() const { return type_; }
  std::size_t count() const { return bytes_.size() / size_of(type_); }
  /// Sets every element. The values must repeat after kPeriod elements, which makes this about as
  /// fast as copying.
  void fill(ValueAt value_at);
  /// For a person: "-3". Of a longer array: of the element that repeats there.
  std::string text(std::size_t index) const;

  /// As below, of all elements and without a phase.
  std::optional<std::size_t> first_other(const Elements& right) const;

 private:
  DataType type_;
  Bytes bytes_;
};

/// The index of the first of `count` elements at `data` with other bits than element
/// (index + phase) % kPeriod of `right`; nothing where all are as they should. About as fast as
/// copying.
std::optional<std::size_t> first_other(const void* data, std::size_t count, const Elements& right,
                                       std::size_t phase);

/// One of several calls: which of them, and how what is put in is combined.
struct CallForm {
  DataType type = DataType::kFloat32;
  ReduceOp op = ReduceOp::kSum;
  std::size_t number = 0;
};

/// What a rank passes as the op: a factor differs between neighbours.
ReduceRule rule_of(const CallForm& call, int rank);
/// What a rank puts in: differs between neighbours in rank, in call and in place.
Elements inputs_of(const CallForm& call, int rank, std::size_t count);
/// What a reduction over all ranks makes of it; of up to kPeriod elements.
Elements reduced(const CallForm& call, int ranks, std::size_t count);

}  // namespace paceline::testing
