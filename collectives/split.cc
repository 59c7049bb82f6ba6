// Communicator::split() and subset(): ranks tell each other over the communicator what they have
// chosen, and make the groups of each color on the runtime that it stands on.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/communicator.h>

#include "collectives/communicator_core.h"
#include "collectives/group_members.h"
#include "collectives/make_communicator.h"
#include "collectives/port.h"
#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/digest.h"
#include "comm/base/try.h"
#include "comm/exchange.h"

namespace paceline {
namespace {

struct Choice {
  std::int64_t color = 0;
  std::int64_t key = 0;
  std::int64_t list = 0;  // of subset(): a digest of the ranks
};
constexpr std::size_t kChoiceWords = sizeof(Choice) / sizeof(std::int64_t);

// All ranks of a color, in the order of their new ranks.
std::vector<int> members_of(const std::vector<Choice>& choices, std::int64_t color) {
  std::vector<int> members;
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].color == color) members.push_back(static_cast<int>(rank));
  std::ranges::stable_sort(members, {},
                           [&](int rank) { return choices[static_cast<std::size_t>(rank)].key; });
  return members;
}

// Each rank's `count` elements, for all of them.
Status all_gather(CommunicatorCore& among, const void* own, void* all, std::size_t count,
                  DataType type) {
  return among.run(requests::all_gather(own, all, count, type));
}

// Over the communicator that is split, whose deadline each of its operations has.
class ParentExchange final : public Exchange {
 public:
  /// Borrowed.
  explicit ParentExchange(CommunicatorCore& parent) : parent_(parent) {}

  Result<std::vector<std::string>> all(const ExchangeTopic&, const std::string& own,
                                       Deadline) override {
    return gather(own);
  }

 private:
  // What is longer than a slot, as a tuning file's part may be, goes on in a second operation.
  struct Slot {
    std::uint64_t length = 0;
    std::array<char, 248> text{};
  };

  Result<std::vector<std::string>> gather(const std::string& own) {
    const auto ranks = static_cast<std::size_t>(parent_.group().size());
    Slot slot{.length = own.size()};
    own.copy(slot.text.data(), slot.text.size());
    std::vector<Slot> slots(ranks);
    PACELINE_TRY(all_gather(parent_, &slot, slots.data(), sizeof(Slot), DataType::kUInt8));
    const std::size_t most =
        std::ranges::max(slots, {}, [](const Slot& one) { return one.length; }).length;
    const std::size_t more = most - std::min(most, slot.text.size());
    std::string rests(more * ranks, '\0');
    if (more > 0) {
      std::string rest = own.substr(std::min(own.size(), slot.text.size()));
      rest.resize(more);
      PACELINE_TRY(all_gather(parent_, rest.data(), rests.data(), more, DataType::kUInt8));
    }
    std::vector<std::string> texts;
    for (const Slot& one : slots) {
      std::string text(one.text.data(), one.text.size());
      text += rests.substr(texts.size() * more, more);
      texts.push_back(text.substr(0, one.length));
    }
    return texts;
  }

  CommunicatorCore& parent_;
};

// A rank says this in place of an error if its color has found no memory.
constexpr std::string_view kNoMemory = "\n";

// The reason why this rank's color shares no memory, because there is none left. Empty where it
// does, or runs on hosts that reach each other by TCP in any case.
struct Lack {
  std::string why;
  bool speaks = false;  // this rank logs it, for its host
};

// Sets what the members of a color reach each other by; nothing if they lack memory and have no
// ports.
Result<Lack> meet_color(CommunicatorRequest& made, const std::vector<int>& members, Exchange& whole,
                        bool others_share_memory, Deadline deadline) {
  const Runtime& runtime = *made.membership.runtime;
  std::vector<int> beside;  // of the whole
  for (const int rank : made.hosts.beside(made.group.rank))
    beside.push_back(members[static_cast<std::size_t>(rank)]);
  PartExchange exchange(whole, beside);
  HostSegment found;
  if (beside.size() > 1) {
    PACELINE_TRY_ASSIGN(found, find_group_segment(made, exchange, deadline));
  } else if (others_share_memory) {
    PACELINE_TRY(listen_for_segments(exchange, deadline));
  }
  // A member of the runtime's room needs no place in the segment.
  if (found.segment != nullptr) found.segment->close_file();
  // Processes of several hosts have had ports from the start.
  if (found.segment != nullptr || !runtime.hosts().is_one()) PACELINE_TRY(make_world(made, found));
  const bool is_first = made.hosts.beside(made.group.rank).front() == made.group.rank;
  return Lack{.why = found.why_not, .speaks = is_first && !found.why_not.empty()};
}

// All ranks call this if a color lacks memory. Its members tell each other addresses, and have TCP.
// `lack`: of this rank's color; null: it has memory.
Status reach_over_tcp(CommunicatorRequest& made, const std::vector<int>& members, Exchange& whole,
                      const Lack* lack, Deadline deadline) {
  Runtime& runtime = *made.membership.runtime;
  const auto address = [&]() -> Result<std::string> {
    if (lack == nullptr) return std::string();
    if (runtime.environment().backend == BackendChoice::kShm)
      return Status(Code::kUnavailable, Scope::kOperation,
                    "PACELINE_BACKEND=shm is not possible, because there is no shared memory for "
                    "the new communicator: " +
                        lack->why);
    return address_of_port(runtime);
  };
  const Result<std::string> own = address();
  PACELINE_TRY_ASSIGN(const auto addresses, whole.all({.key = "port", .task = "opened a port"},
                                                      own.ok() ? *own : std::string(), deadline));
  if (lack == nullptr) return {};
  PACELINE_TRY(own.status());
  for (std::size_t rank = 0; rank < members.size(); ++rank)
    made.group.members[rank].address = addresses[static_cast<std::size_t>(members[rank])];
  return make_world(made, {});
}

struct Agreement {
  Status status;           // the same for all of a color: well, or not
  bool some_lack = false;  // memory, of the whole
};

// The error of a rank of the new communicator, for it and the others.
Status named(const Status& why, const Group& group, int rank) {
  const std::string who =
      "rank " + std::to_string(rank) + " of the new communicator, on " + host_of(group, rank);
  return why.with_context(who).with_culprit(culprit_of(group, rank));
}

// `own`: what has become of it on this rank.
Result<Agreement> agree(const std::string& own, const Group& group, const std::vector<int>& members,
                        Exchange& whole, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const auto texts,
                      whole.all({.key = "made", .task = "made the communicator"}, own, deadline));
  const auto lacks = [](const std::string& text) { return text == kNoMemory; };
  Agreement agreement{.status = {}, .some_lack = std::ranges::any_of(texts, lacks)};
  for (std::size_t rank = 0; rank < members.size() && agreement.status.ok(); ++rank) {
    const std::string& text = texts[static_cast<std::size_t>(members[rank])];
    if (!text.empty() && !lacks(text))
      agreement.status =
          named(Status(Code::kUnavailable, Scope::kOperation, text), group, static_cast<int>(rank));
  }
  return agreement;
}

// What is known before ranks reach each other.
struct Terms {
  bool meets = false;              // there are others of this rank's color
  bool some_share_memory = false;  // of the whole
  Status of_rank;                  // the reason against it on this rank
};

// Sets what the members of a color reach each other by, or has the error of all of them.
Status meet(CommunicatorRequest& made, const std::vector<int>& members, const Terms& terms,
            Exchange& whole, Deadline deadline) {
  Result<Lack> lack = Lack();
  if (terms.meets) {
    lack = meet_color(made, members, whole, terms.some_share_memory, deadline);
  } else if (terms.some_share_memory) {
    PartExchange alone(whole, members);
    PACELINE_TRY(listen_for_segments(alone, deadline));
  }
  Status here = !terms.of_rank.ok() ? terms.of_rank : lack.status();
  const bool lacks = here.ok() && terms.meets && made.world.transport == nullptr;
  PACELINE_TRY_ASSIGN(Agreement agreed, agree(std::string(lacks ? kNoMemory : here.text()),
                                              made.group, members, whole, deadline));
  if (agreed.some_lack) {
    const Status over_tcp =
        reach_over_tcp(made, members, whole, lacks ? &*lack : nullptr, deadline);
    if (here.ok()) here = over_tcp;
    PACELINE_TRY_ASSIGN(agreed,
                        agree(std::string(here.text()), made.group, members, whole, deadline));
  }
  if (!here.ok()) return terms.meets ? named(here, made.group, made.group.rank) : here;
  PACELINE_TRY(agreed.status);
  if (lack->speaks)
    say_over_tcp(*made.membership.runtime, "the ranks of " + made.membership.name, lack->why);
  return {};
}

// The new communicator of this rank, if it joins one.
Result<std::optional<Communicator>> part_of(Communicator& whole, const Choice& own,
                                            const InitOptions& options) {
  CommunicatorCore& core = whole.core()->control();
  const Membership& membership = core.parts().membership;
  if (membership.runtime == nullptr) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "this communicator was made from parts and cannot be split");
  }
  const Runtime& runtime = *membership.runtime;
  CommunicatorRequest made{.began = runtime.clock().now()};
  const Deadline deadline = Deadline::after(runtime.clock(), core.timeout());
  std::vector<Choice> choices(static_cast<std::size_t>(whole.size()));
  PACELINE_TRY(all_gather(core, &own, choices.data(), kChoiceWords, DataType::kInt64));
  for (std::size_t rank = 0; rank < choices.size(); ++rank)
    if (choices[rank].list != own.list)
      return Status(Code::kMismatch, Scope::kOperation,
                    rank_text(whole.group(), static_cast<int>(rank)) + " and " +
                        rank_text(whole.group(), whole.rank()) +
                        " pass different lists of ranks, or one calls split() and one subset()",
                    culprit_of(whole.group(), static_cast<int>(rank)));
  // All operations that were called before have ended, and those of one number are of one split.
  const std::uint64_t number = core.operations_begun() - 1;
  const std::vector<int> members = members_of(choices, own.color);
  const bool joins = own.color != kNoColor;
  const auto chosen =
      terms_of(options, {.timeout = core.timeout(), .determinism = core.parts().determinism},
               runtime.environment());
  Terms terms{.meets = joins && members.size() > 1,
              .some_share_memory = runtime.hosts().some_share(),
              .of_rank = chosen.status()};
  std::string name = "split #";
  name.append(std::to_string(number)).append(", color ").append(std::to_string(own.color));
  made.membership = membership.part(members, name);
  if (chosen.ok() && !chosen->name.empty()) made.membership.name = chosen->name;
  made.group = subgroup(whole.group(), members);
  made.group.name += "; " + name;
  made.hosts = runtime.hosts().part(made.membership.processes);
  ParentExchange exchange(core);
  PACELINE_TRY(meet(made, members, terms, exchange, deadline));
  if (!joins) return std::optional<Communicator>();
  made.terms = *chosen;
  return std::optional<Communicator>(make_communicator(std::move(made)));
}

Status refuse_list(std::span<const int> ranks, int size) {
  std::vector<bool> seen(static_cast<std::size_t>(size));
  for (const int rank : ranks) {
    if (rank < 0 || rank >= size)
      return argument_error("subset: rank " + std::to_string(rank) + " of " + std::to_string(size) +
                            " does not exist");
    if (seen[static_cast<std::size_t>(rank)])
      return argument_error("subset: rank " + std::to_string(rank) + " is in the list twice");
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return ranks.empty() ? argument_error("subset: the list of ranks is empty") : Status();
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
  PACELINE_TRY(core_->refuse_child());
  auto part = part_of(*this, {.color = color, .key = key}, options);
  return part.ok() ? std::move(part) : part.status().with_context("split");
}

Result<std::optional<Communicator>> Communicator::subset(std::span<const int> ranks,
                                                         const InitOptions& options) {
  if (core_ == nullptr) return argument_error("this Communicator was moved from");
  PACELINE_TRY(core_->refuse_child());
  PACELINE_TRY(refuse_list(ranks, size()));
  const auto place = std::ranges::find(ranks, rank()) - ranks.begin();
  const bool joins = std::cmp_less(place, ranks.size());
  const std::string_view list(reinterpret_cast<const char*>(ranks.data()), ranks.size_bytes());
  auto part = part_of(*this,
                      {.color = joins ? 0 : kNoColor,
                       .key = place,
                       .list = static_cast<std::int64_t>(digest(list))},
                      options);
  return part.ok() ? std::move(part) : part.status().with_context("subset");
}

}  // namespace paceline
