// A library whose operations are measured: Paceline's own, a peer's, or a loop written by hand.
#pragma once

#include <cstddef>
#include <string_view>

#include <paceline/status.h>
#include <paceline/types.h>

namespace paceline::probe {

/// `count` elements of `type`.
struct Elements {
  void* data = nullptr;
  std::size_t count = 0;
  DataType type = DataType::kFloat32;

  std::size_t bytes() const { return count * size_of(type); }
};

/// One rank's end of it. One thread; every call is collective and blocks until it has ended.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  virtual Status barrier() = 0;
  virtual Status broadcast(Elements buffer, int root) = 0;
  /// `in` has as many elements as `out`, and is the same memory where it is in place.
  virtual Status all_reduce(const void* in, Elements out, ReduceOp op) = 0;
};

}  // namespace paceline::probe
