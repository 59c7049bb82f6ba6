// Host memory that a device copies from and to by itself.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "comm/device/device.h"
#include "comm/memory_domain.h"

namespace paceline {

/// It lies in the process's memory domain if that has room: ranks of the host reach it there.
/// Pinning and unpinning take long, and may wait for the device, so memory is kept for later use.
class PinnedMemory {
 public:
  /// Borrowed.
  explicit PinnedMemory(Device& device);
  /// Unpins what has been given back.
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory&) = delete;
  PinnedMemory& operator=(const PinnedMemory&) = delete;

  /// At least that many bytes, aligned to a page.
  Result<std::span<std::byte>> take(std::size_t bytes);
  /// Keeps what take() has returned.
  void give_back(std::span<std::byte> memory) { spare_.push_back(memory); }
  /// The device may still use it: nothing is unpinned from now on.
  void leave_behind() { is_left_behind_ = true; }

 private:
  Result<std::span<std::byte>> allocate(std::size_t bytes);
  void free(std::span<std::byte> memory);

  Device& device_;
  MemoryDomain& domain_;
  std::vector<std::span<std::byte>> spare_;
  bool is_left_behind_ = false;
};

}  // namespace paceline
