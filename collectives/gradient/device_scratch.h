// Memory of a device that a bucket needs while it is reduced. Buckets share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include <paceline/status.h>

#include "collectives/gradient/device_mirror.h"
#include "comm/base/try.h"

namespace paceline {

/// With the engine's baton held. Errors have ended the communicator.
class DeviceScratch {
 public:
  /// Borrowed. The mirror has left before the destructor.
  explicit DeviceScratch(DeviceMirror& mirror) : mirror_(mirror) {}
  ~DeviceScratch() { free_spare(); }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  /// Between steps: pieces have at least so many bytes from now on.
  void set_bytes(std::size_t bytes) {
    if (bytes <= bytes_) return;
    free_spare();
    bytes_ = bytes;
  }
  /// Of earlier buckets on the mirror's stream, or new memory.
  Result<std::byte*> take() {
    if (spare_.empty()) {
      Result<std::byte*> memory = mirror_.device().make_memory(bytes_);
      PACELINE_TRY(mirror_.note(memory.status()));
      return memory;
    }
    std::byte* const memory = spare_.back();
    spare_.pop_back();
    return memory;
  }
  void give_back(std::byte* memory) { spare_.push_back(memory); }

 private:
  void free_spare() {
    for (std::byte* const memory : spare_)
      if (!mirror_.is_left_behind()) mirror_.device().destroy_memory(memory);
    spare_.clear();
  }

  DeviceMirror& mirror_;
  std::size_t bytes_ = 0;
  std::vector<std::byte*> spare_;
};

}  // namespace paceline
