// Devices of several ranks between which a library moves and reduces memory by itself: NCCL. A
// module implements these interfaces (cuda/nccl_groups.h).
//
// Source: NCCL's user guide, "Creating a communicator with options" (non-blocking communicators),
// "Group calls", "Fault tolerance".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <paceline/status.h>
#include <paceline/types.h>

#include "comm/device/device.h"

namespace paceline {

/// A call of the library. Names and buffers as in NCCL.
struct DeviceCall {
  enum class Kind : std::uint8_t {
    kAllReduce,
    kReduce,
    kBroadcast,
    kAllGather,
    kReduceScatter,
    kSend,
    kReceive,
  };

  Kind kind{};
  DataType type{};
  ReduceOp op{};
  int peer = -1;          ///< the root, the receiver or the sender
  std::size_t count = 0;  ///< elements, as NCCL counts them
  const void* in = nullptr;
  void* out = nullptr;
  std::optional<std::array<std::byte, 8>> factor{};  ///< of kPreMulSum: one element, at its front
};

/// The member of a group on this rank. One thread at a time. No member but the destructor waits for
/// other ranks or for the device, except that stop() may wait for the library's own threads.
/// Errors: Code::kPeerLost, if the library has lost another rank, else Code::kUnavailable or
/// kInternal; Scope::kGroup.
class DeviceGroup {
 public:
  /// Waits for a few seconds at most. Operations have ended, or were stopped.
  virtual ~DeviceGroup() = default;

  /// False: it is still joining, or still at the last enqueue(). An error: the group has failed.
  virtual Result<bool> is_ready() = 0;
  /// Enqueues calls that run together, once is_ready(). The stream has got all of them when
  /// is_ready() again.
  virtual Status enqueue(std::span<const DeviceCall> calls, DeviceStream stream) = 0;
  /// Ends what was enqueued, here, also if other ranks never come. Nothing may be enqueued any
  /// more. Later calls have no effect.
  virtual void stop() = 0;
  /// After stop(): nothing more of it will be enqueued.
  virtual bool has_stopped() const = 0;
};

/// All ranks of a group join with the same id.
struct DeviceGroupId {
  std::array<std::byte, 128> bytes{};
};

/// The library. Any thread may call any member.
class DeviceGroups {
 public:
  virtual ~DeviceGroups() = default;

  /// For messages: "NCCL 2.28.9".
  virtual std::string name() const = 0;
  /// Ranks of different versions form no group.
  virtual std::uint32_t version() const = 0;
  virtual bool serves(DataType type) const = 0;
  virtual Result<DeviceGroupId> make_id() = 0;
  /// Begins to join. The device is borrowed.
  virtual Result<std::unique_ptr<DeviceGroup>> join(Device& device, const DeviceGroupId& id,
                                                    int rank, int ranks) = 0;
};

}  // namespace paceline
