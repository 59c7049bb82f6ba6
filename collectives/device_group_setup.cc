#include "collectives/device_group_setup.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <type_traits>
#include <utility>

#include "collectives/group_members.h"
#include "collectives/requests.h"
#include "comm/base/digest.h"

namespace paceline {
namespace {

constexpr Duration kPollEvery = std::chrono::milliseconds(1);
// A library that has not joined by then is left out. The operations still have time.
constexpr Duration kJoinTime = std::chrono::seconds(60);

}  // namespace

DeviceGroupSetup::DeviceGroupSetup(HeldCommunicator& held, Device& device,
                                   const Result<DeviceGroups*>& groups, Owner& owner)
    : held_(held),
      device_(device),
      engine_(*held.parts().engine),
      called_at_(engine_.clock().now()),
      groups_(groups.ok() ? *groups : nullptr),
      owner_(owner),
      offers_(static_cast<std::size_t>(held.parts().group.size())) {
  static_assert(std::has_unique_object_representations_v<Offer>);
  static_assert(std::has_unique_object_representations_v<Id>);
  if (!groups.ok()) why_not_ = groups.status().text();
  offer_.has_library = groups_ != nullptr ? 1 : 0;
  offer_.version = groups_ != nullptr ? groups_->version() : 0;
  offer_.device = device.identity();
  const char* const host = std::getenv("NCCL_HOSTID");
  offer_.host = host != nullptr ? digest(host) : 0;
  request_ = requests::all_gather(&offer_, offers_.data(), sizeof(Offer), DataType::kUInt8);
  engine_.attach(*this);
  held_.start_staged(*this);
}

OperationRequest* DeviceGroupSetup::next_part() {
  return part_ == Part::kJoined && has_joined_ < 0 ? nullptr : &request_;
}

// All ranks go on, or none. Each may have a reason of its own.
bool DeviceGroupSetup::end_part() {
  switch (part_) {
    case Part::kOffers:
      compare_offers();
      if (!why_not_.empty()) return false;
      make_id();
      part_ = Part::kId;
      request_ = requests::broadcast(&id_, sizeof id_, DataType::kUInt8, 0);
      return true;
    case Part::kId:
      if (id_.is_made == 0) {
        refuse("rank 0 could not make the id of the group");
        return false;
      }
      begin_to_join();
      part_ = Part::kJoined;
      request_ =
          requests::all_reduce(&has_joined_, &has_joined_, 1, DataType::kInt32, ReduceOp::kMin);
      return true;
    case Part::kJoined:
      if (has_joined_ == 0) refuse("a rank could not join");
      return false;
  }
  return false;
}

void DeviceGroupSetup::compare_offers() {
  const Group& group = held_.parts().group;
  const auto text_of = [&](std::size_t rank) { return rank_text(group, static_cast<int>(rank)); };
  for (std::size_t rank = 0; rank < offers_.size(); ++rank) {
    const Offer& offer = offers_[rank];
    if (offer.has_library == 0) return refuse(text_of(rank) + " has no library");
    if (offer.version != offers_[0].version)
      return refuse(text_of(rank) + " has another version of the library than " + text_of(0));
    const auto is_alike = [&](const Offer& other) {
      return other.device == offer.device && other.host == offer.host;
    };
    const auto first =
        static_cast<std::size_t>(std::ranges::find_if(offers_, is_alike) - offers_.begin());
    if (first != rank)
      return refuse(text_of(first) + " and " + text_of(rank) + " use the same GPU");
  }
}

void DeviceGroupSetup::make_id() {
  if (held_.parts().group.rank != 0) return;
  const Result<DeviceGroupId> made = groups_->make_id();
  if (!made.ok()) return refuse(made.status().text());
  id_ = {.id = *made, .is_made = 1};
}

void DeviceGroupSetup::begin_to_join() {
  const Group& group = held_.parts().group;
  // The last part must end within the timeout of the operation.
  const TimePoint now = engine_.clock().now();
  const Duration left = called_at_ + held_.queue().timeout() - now;
  join_by_ = now + std::min(kJoinTime, left / 2);
  auto joined = groups_->join(device_, id_.id, group.rank, group.size());
  if (joined.ok()) {
    group_ = *std::move(joined);
    wake_at_ = TimePoint::min();
  } else {
    refuse(joined.status().text());
    has_joined_ = 0;
  }
}

void DeviceGroupSetup::look_whether_joined(TimePoint now) {
  const Result<bool> ready = group_->is_ready();
  if (ready.ok() && *ready) {
    has_joined_ = 1;
  } else if (!ready.ok() || now >= join_by_) {
    refuse(ready.ok() ? "the library did not join its group in time" : ready.status().text());
    has_joined_ = 0;
  }
}

// A group that is not used may keep its library busy, so it is stopped.
void DeviceGroupSetup::refuse(std::string why) {
  if (why_not_.empty()) why_not_ = std::move(why);
  if (group_ != nullptr) group_->stop();
}

void DeviceGroupSetup::end(const Status& how) {
  if (!how.ok()) refuse(how.text());
  is_over_ = true;
  wake_at_ = TimePoint::min();
}

bool DeviceGroupSetup::drive(TimePoint now) {
  bool moved = false;
  if (!is_over_ && has_joined_ < 0 && group_ != nullptr) {
    look_whether_joined(now);
    moved = has_joined_ >= 0;
    wake_at_ = moved ? TimePoint::max() : now + kPollEvery;
  }
  if (is_over_ && !std::exchange(is_told_, true)) {
    wake_at_ = TimePoint::max();
    engine_.detach(*this);
    owner_.setup_is_over();
    moved = true;
  }
  return moved;
}

void DeviceGroupSetup::leave() {
  const Engine::Baton baton = engine_.hold();
  if (!std::exchange(is_told_, true)) engine_.detach(*this);
  // After exit() the driver may be gone.
  if (engine_.is_stopped()) (void)group_.release();
}

}  // namespace paceline
