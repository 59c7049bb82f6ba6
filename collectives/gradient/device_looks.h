// What kernels find out about buckets in the memory of a device: overflow and norm. It comes to the
// host by copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include <paceline/gradient_pipeline.h>
#include <paceline/status.h>
#include <paceline/types.h>

#include "collectives/gradient/device_mirror.h"
#include "collectives/gradient/kernels/findings.h"
#include "collectives/gradient/schedule.h"
#include "collectives/pinned_memory.h"

namespace paceline {

/// With the engine's baton held. Errors have ended the communicator.
class DeviceLooks {
 public:
  /// Before the bucket's reduction, and after it.
  enum class When : std::uint8_t { kBefore, kAfter };
  struct Found {
    std::optional<std::size_t> first_overflow;  ///< offset in the arena
    double sum_of_squares = 0;
  };

  /// Borrowed. The mirror has left before the destructor.
  explicit DeviceLooks(DeviceMirror& mirror);
  ~DeviceLooks();
  DeviceLooks(const DeviceLooks&) = delete;
  DeviceLooks& operator=(const DeviceLooks&) = delete;

  /// Between steps: makes room for so many buckets.
  Status set_buckets(std::size_t buckets);
  /// Enqueues a kernel that looks at the bucket, and bring().
  Status begin(std::size_t bucket, When when, std::span<const ByteSpan> spans, DataType type);
  /// For findings of another kernel.
  on_device::Findings* place(std::size_t bucket, When when) const;
  /// Enqueues the copy of the findings to the host.
  Status bring(std::size_t bucket, When when);
  /// What was found, once the stream has reached a later mark.
  Found found(std::size_t bucket, When when) const;

 private:
  static std::size_t offset_of(std::size_t bucket, When when);
  void free_memory();

  DeviceMirror& mirror_;
  PinnedMemory pinned_;
  std::size_t room_ = 0;         // buckets
  std::byte* memory_ = nullptr;  // of the device: findings of each look
  std::span<std::byte> host_{};  // the same in host memory
};

}  // namespace paceline
