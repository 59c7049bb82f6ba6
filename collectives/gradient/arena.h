// Where the gradients of a pipeline lie: one buffer, in the order of the parameters. Addresses
// stay.
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

/// Move-only.
class GradientArena {
 public:
  /// Of zeros. What the ranks of a host reach directly, where there is such memory. Errors: a type
  /// that gradients do not have; columns that do not divide; more than there is room for.
  static Result<GradientArena> make(std::span<const Parameter> parameters);

  /// Gradients, and bytes.
  std::size_t size() const { return places_.size(); }
  std::size_t bytes() const { return memory_.size(); }
  /// A gradient's own bytes; the next one begins at a multiple of 64 behind them, after zeros.
  std::span<std::byte> of(std::size_t gradient) const;
  /// The same with the zeros.
  const ByteSpan& place(std::size_t gradient) const { return places_[gradient]; }
  /// Elements of a row of its matrix; 0: unknown.
  std::size_t columns(std::size_t gradient) const { return columns_[gradient]; }
  std::byte* at(std::size_t offset) const { return memory_.data() + offset; }
  /// Whose bytes, or zeros, are there.
  std::size_t gradient_at(std::size_t offset) const;

 private:
  Buffer buffer_;
  std::vector<std::byte> ordinary_;  // where there is no such buffer
  std::span<std::byte> memory_;      // of the one or the other
  std::vector<ByteSpan> places_;
  std::vector<std::size_t> bytes_, columns_;
};

}  // namespace paceline
