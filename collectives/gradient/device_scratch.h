// Memory of a device that a bucket needs while it is reduced. Buckets share it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
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
  ~DeviceScratch() {
    if (mirror_.is_left_behind()) return;
    for (std::byte* const memory : allocated_) mirror_.device().destroy_memory(memory);
  }
  DeviceScratch(const DeviceScratch&) = delete;
  DeviceScratch& operator=(const DeviceScratch&) = delete;

  struct Piece {
    std::byte* memory = nullptr;
    std::size_t bytes = 0;
  };

  /// Allocates so many pieces. Call it between steps. take() returns pieces of at least `bytes`
  /// from now on. The destructor frees smaller ones, because to free them may wait for the device.
  Status reserve(std::size_t bytes, std::size_t pieces) {
    if (bytes > bytes_) spare_.clear();
    bytes_ = std::max(bytes_, bytes);
    while (spare_.size() < pieces) {
      PACELINE_TRY_ASSIGN(const Piece piece, allocate());
      spare_.push_back(piece);
    }
    return {};
  }
  /// Nothing on the device uses it.
  Result<Piece> take() {
    if (spare_.empty()) return allocate();
    const Piece piece = spare_.back();
    spare_.pop_back();
    return piece;
  }
  /// The device has ended all that uses it.
  void give_back(const Piece& piece) {
    if (piece.bytes == bytes_) spare_.push_back(piece);
  }

 private:
  Result<Piece> allocate() {
    const Result<std::byte*> memory = mirror_.device().make_memory(bytes_);
    PACELINE_TRY(mirror_.note(memory.status()));
    allocated_.push_back(*memory);
    return Piece{.memory = *memory, .bytes = bytes_};
  }

  DeviceMirror& mirror_;
  std::size_t bytes_ = 0;
  std::vector<Piece> spare_;
  std::vector<std::byte*> allocated_;
};

}  // namespace paceline
