// Where the gradients of a pipeline lie: one buffer, in which those of one type adjoin, in the
// order of the parameters. Addresses stay.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include <paceline/buffer.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/status.h>

#include "collectives/gradient/schedule.h"

namespace paceline {

/// Code::kInvalidArgument: it is not one of so many gradients.
Status check_gradient(std::size_t gradient, std::size_t gradients);

/// Move-only.
class GradientArena {
 public:
  /// An arena of zeros, in memory that the ranks of a host reach directly if there is such memory.
  /// Errors: a wrong parameter; more than there is room for.
  static Result<GradientArena> make(std::span<const Parameter> parameters);

  /// The memory stays until the process ends: something may still write there.
  void leave_behind();

  /// The number of gradients.
  std::size_t size() const { return places_.size(); }
  std::size_t bytes() const { return memory_.size(); }
  /// The bytes of a gradient. The next one begins at a multiple of 64 behind them, after zeros.
  std::span<std::byte> of(std::size_t gradient) const;
  /// The same, with the zeros.
  const ByteSpan& place(std::size_t gradient) const { return places_[gradient]; }
  /// Elements of a row of its matrix; 0: unknown.
  std::size_t columns(std::size_t gradient) const { return columns_[gradient]; }
  std::byte* at(std::size_t offset) const { return memory_.data() + offset; }
  /// The gradient whose bytes or zeros are there.
  std::size_t gradient_at(std::size_t offset) const { return gradients_from(offset).front(); }
  /// That gradient, and all behind it in the order in which they lie.
  std::span<const std::size_t> gradients_from(std::size_t offset) const;

 private:
  Buffer buffer_;
  std::vector<std::byte> ordinary_;  // where there is no such buffer
  std::span<std::byte> memory_;      // of the one or the other
  std::vector<ByteSpan> places_;
  std::vector<std::size_t> bytes_, columns_;
  std::vector<std::size_t> order_;  // gradients as they lie
};

}  // namespace paceline
