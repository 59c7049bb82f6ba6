// Whether the next operation of a kind will have all its arrays in buffers, guessed before its
// ranks have met from what they saw of the last ones: on that depends by which method it is the
// fastest. All ranks see the same, and so guess the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

#include "comm/base/signature.h"

namespace paceline::shm {

class BufferHabit {
 public:
  bool expects(OperationKind kind) const {
    return in_a_row_[static_cast<std::size_t>(kind)] >= kSure;
  }
  /// What all ranks saw of an operation. A wrong guess costs up to the time of the operation once
  /// more: of operations that have their arrays now here, now there, few are guessed.
  void note(OperationKind kind, bool in_buffers) {
    std::uint8_t& in_a_row = in_a_row_[static_cast<std::size_t>(kind)];
    in_a_row = in_buffers ? static_cast<std::uint8_t>(in_a_row + (in_a_row < kSure ? 1 : 0)) : 0;
  }

 private:
  static constexpr std::uint8_t kSure = 8;
  std::array<std::uint8_t, std::size(kOperationKinds)> in_a_row_{};  // by kind
};

}  // namespace paceline::shm
