#include "launcher/options/host_plan.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

namespace paceline::launcher {
namespace {

constexpr int kUnbounded = std::numeric_limits<int>::max();

struct Room {
  HostSlots host;
  int ranks = 0;

  int left(int most) const { return std::min(host.slots.value_or(kUnbounded), most) - ranks; }
};

// A host that is named twice has the slots of both, and none where it has none in one of them.
std::vector<Room> rooms_of(std::span<const HostSlots> hosts) {
  std::vector<Room> rooms;
  for (const HostSlots& host : hosts) {
    const auto known = std::find_if(rooms.begin(), rooms.end(),
                                    [&](const Room& room) { return room.host.name == host.name; });
    if (known == rooms.end()) {
      rooms.push_back({.host = host});
    } else if (known->host.slots && host.slots) {
      known->host.slots = std::min(*known->host.slots + *host.slots, kMaxRanks);
    } else {
      known->host.slots.reset();
    }
  }
  return rooms;
}

int fill_stated(std::vector<Room>& rooms, int ranks, int most) {
  for (Room& room : rooms) {
    if (!room.host.slots) continue;
    room.ranks = std::min(room.left(most), ranks);
    ranks -= room.ranks;
  }
  return ranks;
}

int fill_others_evenly(std::vector<Room>& rooms, int ranks, int most) {
  auto others = static_cast<int>(
      std::count_if(rooms.begin(), rooms.end(), [](const Room& room) { return !room.host.slots; }));
  for (Room& room : rooms) {
    if (room.host.slots) continue;
    room.ranks = std::min(room.left(most), (ranks + others - 1) / others);
    ranks -= room.ranks;
    --others;
  }
  return ranks;
}

Status too_many(std::span<const Room> rooms, int ranks, int most) {
  std::int64_t slots = 0;
  for (const Room& room : rooms) slots += room.ranks;
  const std::string there = std::to_string(slots) + (slots == 1 ? " slot" : " slots");
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "the job has " + std::to_string(ranks) + " ranks, but its hosts have " + there +
                    (most == kUnbounded ? "" : " with at most " + std::to_string(most) + " each") +
                    "; ask for fewer ranks, or state more slots");
}

}  // namespace

Result<std::vector<HostShare>> share_ranks(std::span<const HostSlots> hosts, int ranks,
                                           int most_a_host) {
  const int most = most_a_host == 0 ? kUnbounded : most_a_host;
  std::vector<Room> rooms = rooms_of(hosts);
  const int left = fill_others_evenly(rooms, fill_stated(rooms, ranks, most), most);
  if (left > 0) return too_many(rooms, ranks, most);
  std::vector<HostShare> shares;
  for (Room& room : rooms) {
    if (room.ranks == 0) continue;
    shares.push_back({.host = std::move(room.host.name),
                      .ranks = room.ranks,
                      .slots = std::min(room.host.slots.value_or(room.ranks), most)});
  }
  return shares;
}

}  // namespace paceline::launcher
