// The findings of kernels about buckets in the memory of a device: overflow and norm. They come to
// the host by copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

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
  using When = DeviceMirror::When;
  struct Found {
    std::optional<std::size_t> first_overflow;  ///< offset in the arena
    double sum_of_squares = 0;
  };

  /// Borrowed. The mirror has left before the destructor.
  explicit DeviceLooks(DeviceMirror& mirror);
  ~DeviceLooks();
  DeviceLooks(const DeviceLooks&) = delete;
  DeviceLooks& operator=(const DeviceLooks&) = delete;

  /// Between steps: makes room for so many buckets. Memory that is too small is kept until the end,
  /// because to free it may wait for the device.
  Status set_buckets(std::size_t buckets);
  /// Enqueues a kernel that looks at the bucket, and bring().
  Status begin(std::size_t bucket, When when, std::span<const ByteSpan> spans, DataType type);
  /// Where another kernel writes its findings.
  on_device::Findings* place(std::size_t bucket, When when) const;
  /// Enqueues the copy of the findings to the host.
  Status bring(std::size_t bucket, When when);
  /// The findings, once the stream has passed bring().
  Found found(std::size_t bucket, When when) const;

 private:
  static std::size_t offset_of(std::size_t bucket, When when);

  DeviceMirror& mirror_;
  PinnedMemory pinned_;
  std::vector<std::byte*> allocated_;  // of the device, the last one is in use
  std::size_t room_ = 0;               // buckets
  std::span<std::byte> host_{};        // as long as that in use
};

}  // namespace paceline
