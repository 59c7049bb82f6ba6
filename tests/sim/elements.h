// Elements of any data type that hold small integers, and what calls make of them.
#pragma once

#include <cstddef>

#include <paceline/types.h>

#include "comm/bytes.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

class Elements {
 public:
  Elements(DataType type, std::size_t count) : type_(type), bytes_(count * size_of(type)) {}

  void* data() { return bytes_.data(); }
  void set(std::size_t index, int value);
  bool is(std::size_t index, int value) const;

 private:
  DataType type_;
  Bytes bytes_;
};

/// What a rank puts in: differs between neighbours in rank, in call and in place.
int input_of(int rank, std::size_t call, std::size_t index);

/// What a broadcast or all_reduce gives to every one of `ranks` ranks.
int result_of(const Call& call, std::size_t call_index, std::size_t index, int ranks);

}  // namespace paceline::testing
