// Communicator::split(): ranks tell each other what they have chosen, the first of each color makes
// an id, and those of a color meet there as any world does.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "collectives/host_world.h"
#include "collectives/unique_id.h"
#include "comm/base/argument_error.h"
#include "comm/base/descriptors.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

struct Choice {
  std::int64_t color = 0;
  std::int64_t key = 0;
  std::int64_t descriptors_left = 0;
  std::int64_t descriptor_limit = 0;
};
constexpr std::size_t kChoiceWords = sizeof(Choice) / sizeof(std::int64_t);

Choice choice_of(int color, int key) {
  const auto in_words = [](std::uint64_t count) {
    return static_cast<std::int64_t>(std::min(count, std::uint64_t{INT64_MAX}));
  };
  const Descriptors counted = descriptors();
  return {.color = color,
          .key = key,
          .descriptors_left = in_words(counted.left()),
          .descriptor_limit = in_words(counted.limit)};
}

// A new communicator may need this number of descriptors on a rank, until its ranks have met and
// for its first operations. They are for its engine, its listener, the shared segment, and its
// connections. Ranks of one host may each need two for each other one. Ranks of several hosts
// connect when they have something to send. The rank that serves the rendezvous has a connection
// from each rank.
std::int64_t descriptors_for(std::size_t ranks, bool serves) {
  constexpr std::int64_t kOwn = 16, kForEach = 2;
  const std::size_t others = serves ? ranks : std::min<std::size_t>(ranks, kMostHostRanks);
  return kOwn + kForEach * static_cast<std::int64_t>(others);
}

// This rank's in the communicator of its color.
struct Place {
  int first = 0;  // its first rank, in the communicator that is split
  int rank = 0;
  std::vector<int> members;  // all of the color, in the order of their new ranks
};

Place place_of(const std::vector<Choice>& choices, int self) {
  const auto choice_of = [&](int rank) { return choices[static_cast<std::size_t>(rank)]; };
  std::vector<int> members;
  for (int rank = 0; rank < static_cast<int>(choices.size()); ++rank) {
    if (choice_of(rank).color == choice_of(self).color) members.push_back(rank);
  }
  std::ranges::stable_sort(members, {}, [&](int rank) { return choice_of(rank).key; });
  const auto rank = static_cast<int>(std::ranges::find(members, self) - members.begin());
  const int first = members.front();
  return {.first = first, .rank = rank, .members = std::move(members)};
}

struct Invitation {
  std::uint8_t is_made = 0;
  std::array<std::byte, UniqueId::kBytes> id{};
};
static_assert(sizeof(Invitation) == 1 + UniqueId::kBytes);

// What the first rank of each color sends; nothing from all others.
Result<std::vector<Invitation>> exchange(Communicator& parent, const Invitation& own) {
  std::vector<Invitation> all(static_cast<std::size_t>(parent.size()));
  PACELINE_TRY(parent.all_gather(&own, all.data(), sizeof(Invitation), DataType::kUInt8));
  return all;
}

// The id where the ranks of a color meet; of no use where this one meets nobody.
Result<UniqueId> meeting_of(Communicator& parent, const Place& place, bool meets) {
  const bool invites = meets && place.rank == 0;
  const Result<UniqueId> made = invites ? make_unique_id() : UniqueId();
  Invitation own;
  if (invites && made.ok()) own = {.is_made = 1, .id = made->bytes};
  const auto all = exchange(parent, own);
  if (!made.ok()) return made.status();
  if (!all.ok()) {
    if (invites) (void)take_server_of(*made);
    return all.status();
  }
  const Invitation& invitation = (*all)[static_cast<std::size_t>(place.first)];
  if (!meets || invitation.is_made != 0) return UniqueId{invitation.id};
  return Status(Code::kUnavailable, Scope::kOperation,
                "rank " + std::to_string(place.first) +
                    ", the first of this color, could not open a rendezvous");
}

// A rank that fails alone would leave the others of its color waiting for it.
Status check_descriptors(const std::vector<Choice>& choices, const Place& place,
                         const Group& group) {
  for (const int member : place.members) {
    const std::int64_t needed =
        descriptors_for(place.members.size(), member == place.members.front());
    const Choice& one = choices[static_cast<std::size_t>(member)];
    if (one.descriptors_left >= needed) continue;
    const std::string& host = group.members[static_cast<std::size_t>(member)].host;
    return Status(Code::kExhausted, Scope::kOperation,
                  "split: rank " + std::to_string(member) + " on " + host + " has " +
                      std::to_string(one.descriptors_left) + " of " +
                      std::to_string(one.descriptor_limit) +
                      " file descriptors left, and the new communicator may need " +
                      std::to_string(needed) + "; raise the limit (ulimit -n)")
        .with_culprit({.rank = member, .host = host});
  }
  return {};
}

}  // namespace

Result<std::optional<Communicator>> Communicator::split(int color, int key,
                                                        const InitOptions& options) {
  if (color < kNoColor) {
    return Status(
        Code::kInvalidArgument, Scope::kOperation,
        "split: color " + std::to_string(color) + " is not allowed; use 0 or more, or kNoColor");
  }
  if (core_ == nullptr) return argument_error("this Communicator was moved from");
  const Regroup& regroup = core_->regroup();
  if (!regroup) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "split: this communicator was made from parts and cannot be split");
  }
  const Choice own = choice_of(color, key);
  std::vector<Choice> choices(static_cast<std::size_t>(size()));
  PACELINE_TRY(all_gather(&own, choices.data(), kChoiceWords, DataType::kInt64));
  // All operations that were called before have ended, and those of one number are of one split.
  const std::uint64_t number = core_->operations_begun() - 1;
  Place place = place_of(choices, rank());
  const bool joins = color != kNoColor;
  const bool meets = joins && place.members.size() > 1;
  const Status able = meets ? check_descriptors(choices, place, group()) : Status();
  PACELINE_TRY_ASSIGN(const UniqueId id, meeting_of(*this, place, meets && able.ok()));
  PACELINE_TRY(able);
  if (!joins) return std::optional<Communicator>();
  InitOptions inherited = options;
  if (inherited.timeout_ms.count() == 0)
    inherited.timeout_ms = std::chrono::duration_cast<std::chrono::milliseconds>(core_->timeout());
  std::string name = "split #";
  name.append(std::to_string(number)).append(", color ").append(std::to_string(color));
  PACELINE_TRY_ASSIGN(Communicator made, regroup({.id = id,
                                                  .rank = place.rank,
                                                  .members = std::move(place.members),
                                                  .name = std::move(name)},
                                                 inherited));
  return std::optional<Communicator>(std::move(made));
}

}  // namespace paceline
