// Communicator::split(): ranks tell each other what they have chosen, the first of each color makes
// an id, and those of a color meet there as any world does.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "collectives/unique_id.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

struct Choice {
  std::int64_t color = 0;
  std::int64_t key = 0;
};

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

}  // namespace

Result<std::optional<Communicator>> Communicator::split(int color, int key,
                                                        const InitOptions& options) {
  if (color < kNoColor) {
    return Status(
        Code::kInvalidArgument, Scope::kOperation,
        "split: color " + std::to_string(color) + " is not allowed; use 0 or more, or kNoColor");
  }
  const Regroup& regroup = core_->regroup();
  if (!regroup) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "split: this communicator was made from parts and cannot be split");
  }
  const Choice own{.color = color, .key = key};
  std::vector<Choice> choices(static_cast<std::size_t>(size()));
  PACELINE_TRY(all_gather(&own, choices.data(), 2, DataType::kInt64));
  // All operations that were called before have ended, and those of one number are of one split.
  const std::uint64_t number = core_->operations_begun() - 1;
  Place place = place_of(choices, rank());
  const bool joins = color != kNoColor;
  PACELINE_TRY_ASSIGN(const UniqueId id,
                      meeting_of(*this, place, joins && place.members.size() > 1));
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
