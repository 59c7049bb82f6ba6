// The ranks of a communicator find out whether a library can move memory between their devices, and
// join its group if so. This is one operation in the queue, of three parts:
//
//   1  an all-gather: what each rank has
//   2  a broadcast: the id of the group
//   3  an all-reduce: whether all have joined; it begins on a rank when that one has, or cannot
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "collectives/held_communicator.h"
#include "collectives/operation_stage.h"
#include "comm/device/device.h"
#include "comm/device/device_group.h"
#include "comm/engine.h"

namespace paceline {

/// With the engine's baton held.
class DeviceGroupSetup final : private OperationStage, private Driver {
 public:
  class Owner {
   public:
    /// is_over() has become true. Not inside of the queue.
    virtual void setup_is_over() = 0;

   protected:
    ~Owner() = default;
  };

  /// Begins, with the next operation of the queue. `groups`: an error says why this rank has none.
  /// All but it is borrowed.
  DeviceGroupSetup(HeldCommunicator& held, Device& device, const Result<DeviceGroups*>& groups,
                   Owner& owner);
  /// Call leave() before.
  ~DeviceGroupSetup() override = default;
  DeviceGroupSetup(const DeviceGroupSetup&) = delete;
  DeviceGroupSetup& operator=(const DeviceGroupSetup&) = delete;

  bool is_over() const { return is_over_; }
  Device& device() const { return device_; }
  /// Once it is over: the group, ready; null: there is none, and why_not() says why.
  std::unique_ptr<DeviceGroup> take_group() {
    return why_not_.empty() ? std::move(group_) : nullptr;
  }
  const std::string& why_not() const { return why_not_; }
  /// Once it is over, and there is a group.
  std::string library_name() const { return groups_->name(); }
  bool serves(DataType type) const { return groups_ != nullptr && groups_->serves(type); }
  /// All operations of the communicator have ended.
  void leave();

 private:
  enum class Part { kOffers, kId, kJoined };
  struct Offer {
    std::uint32_t has_library = 0;
    std::uint32_t version = 0;
    std::uint64_t host = 0;  // a digest of NCCL_HOSTID: ranks that differ may share a device
    std::array<std::byte, 16> device{};
  };
  struct Id {
    DeviceGroupId id{};
    std::uint8_t is_made = 0;
  };

  OperationRequest* next_part() override;
  bool end_part() override;
  void end(const Status& how) override;
  bool drive(TimePoint now) override;
  TimePoint wake_at() const override { return wake_at_; }

  void compare_offers();
  void make_id();
  void begin_to_join();
  void look_whether_joined(TimePoint now);
  void refuse(std::string why);

  HeldCommunicator& held_;
  Device& device_;
  Engine& engine_;
  const TimePoint called_at_;
  DeviceGroups* const groups_;  // null: none here
  Owner& owner_;
  Part part_ = Part::kOffers;
  Offer offer_;
  std::vector<Offer> offers_;  // of all ranks
  Id id_;
  std::int32_t has_joined_ = -1;  // of this rank, then of all; -1: not known yet
  OperationRequest request_;      // of the part
  std::unique_ptr<DeviceGroup> group_;
  std::string why_not_;
  TimePoint join_by_{};
  bool is_over_ = false;
  bool is_told_ = false;
  TimePoint wake_at_ = TimePoint::max();
};

}  // namespace paceline
