#include "collectives/device_meeting.h"

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
// A library that has not joined by then is left out, and the operations still have time.
constexpr Duration kJoinTime = std::chrono::seconds(60);

}  // namespace

DeviceMeeting::DeviceMeeting(HeldCommunicator& held, Device& device,
                             const Result<DeviceGroups*>& groups, Owner& owner)
    : held_(held),
      device_(device),
      engine_(*held.parts().engine),
      groups_(groups.ok() ? *groups : nullptr),
      owner_(owner),
      cards_(static_cast<std::size_t>(held.parts().group.size())) {
  static_assert(std::has_unique_object_representations_v<Card>);
  if (!groups.ok()) why_not_ = groups.status().text();
  if (groups_ != nullptr && held.parts().group.rank == 0) {
    const Result<DeviceGroupId> id = groups_->make_id();
    if (id.ok()) card_.id = *id;
    if (!id.ok()) why_not_ = id.status().text();
    if (!id.ok()) groups_ = nullptr;
  }
  card_.has_library = groups_ != nullptr ? 1 : 0;
  card_.version = groups_ != nullptr ? groups_->version() : 0;
  card_.device = device.identity();
  const char* const host = std::getenv("NCCL_HOSTID");
  card_.host = host != nullptr ? digest(host) : 0;
  request_ = requests::all_gather(&card_, cards_.data(), sizeof(Card), DataType::kUInt8);
  join_by_ =
      Deadline::after(engine_.clock(), std::min(kJoinTime, held.queue().timeout() / 2)).moment();
  engine_.attach(*this);
  held_.start_staged(*this);
}

OperationRequest* DeviceMeeting::next_part() {
  if (is_joining_ && has_joined_ < 0) return nullptr;
  return &request_;
}

// True if all ranks try to join.
bool DeviceMeeting::end_part() {
  if (is_joining_) {
    if (has_joined_ == 0) refuse("a rank could not join");
    return false;
  }
  compare_cards();
  if (!why_not_.empty()) return false;
  is_joining_ = true;
  begin_to_join();
  request_ = requests::all_reduce(&has_joined_, &has_joined_, 1, DataType::kInt32, ReduceOp::kMin);
  return true;
}

// All ranks come to the same result, though each has a reason of its own.
void DeviceMeeting::compare_cards() {
  const Group& group = held_.parts().group;
  const auto text_of = [&](std::size_t rank) { return rank_text(group, static_cast<int>(rank)); };
  for (std::size_t rank = 0; rank < cards_.size(); ++rank) {
    const Card& card = cards_[rank];
    if (card.has_library == 0) {
      if (why_not_.empty()) why_not_ = text_of(rank) + " has no library";
      return;
    }
    if (card.version != cards_[0].version)
      return refuse(text_of(rank) + " has another version of the library than " + text_of(0));
    const auto is_alike = [&](const Card& other) {
      return other.device == card.device && other.host == card.host;
    };
    const auto first = std::ranges::find_if(cards_, is_alike) - cards_.begin();
    if (static_cast<std::size_t>(first) != rank)
      return refuse(text_of(static_cast<std::size_t>(first)) + " and " + text_of(rank) +
                    " use the same GPU");
  }
}

void DeviceMeeting::begin_to_join() {
  const Group& group = held_.parts().group;
  auto joined = groups_->join(device_, cards_[0].id, group.rank, group.size());
  if (joined.ok()) {
    group_ = *std::move(joined);
    wake_at_ = TimePoint::min();
  } else {
    refuse(joined.status().text());
    has_joined_ = 0;
  }
}

void DeviceMeeting::look_whether_joined() {
  const Result<bool> ready = group_->is_ready();
  if (ready.ok() && *ready) {
    has_joined_ = 1;
  } else if (!ready.ok() || engine_.clock().now() >= join_by_) {
    refuse(ready.ok() ? "the library did not join its group in time" : ready.status().text());
    has_joined_ = 0;
  }
}

// A group that is left without a word may keep its library busy, so it is stopped.
void DeviceMeeting::refuse(std::string why) {
  if (why_not_.empty()) why_not_ = std::move(why);
  if (group_ != nullptr) group_->stop();
}

void DeviceMeeting::end(const Status& how) {
  if (!how.ok()) refuse(how.text());
  is_over_ = true;
  wake_at_ = TimePoint::min();
}

bool DeviceMeeting::drive(TimePoint now) {
  bool moved = false;
  if (is_joining_ && has_joined_ < 0 && group_ != nullptr) {
    look_whether_joined();
    moved = has_joined_ >= 0;
    wake_at_ = moved ? TimePoint::max() : now + kPollEvery;
  }
  if (is_over_ && !std::exchange(is_told_, true)) {
    wake_at_ = TimePoint::max();
    engine_.detach(*this);
    owner_.meeting_is_over();
    moved = true;
  }
  return moved;
}

void DeviceMeeting::leave() {
  const Engine::Baton baton = engine_.hold();
  if (!std::exchange(is_told_, true)) engine_.detach(*this);
}

}  // namespace paceline
