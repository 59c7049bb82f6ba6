// Communicator::split(): ranks tell each other over the communicator what they have chosen, and
// make the groups of each color on the runtime that it stands on.

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
#include "collectives/make_communicator.h"
#include "collectives/port.h"
#include "comm/base/argument_error.h"
#include "comm/base/descriptors.h"
#include "comm/base/try.h"
#include "comm/exchange.h"

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

// This rank's in the communicator of its color.
struct Place {
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
  return {.rank = rank, .members = std::move(members)};
}

// Over the communicator that is split, whose deadline each of its operations has.
class ParentExchange final : public Exchange {
 public:
  /// Borrowed.
  explicit ParentExchange(Communicator& parent) : parent_(parent) {}

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
    const auto ranks = static_cast<std::size_t>(parent_.size());
    Slot slot{.length = own.size()};
    own.copy(slot.text.data(), slot.text.size());
    std::vector<Slot> slots(ranks);
    PACELINE_TRY(parent_.all_gather(&slot, slots.data(), sizeof(Slot), DataType::kUInt8));
    const std::size_t most =
        std::ranges::max(slots, {}, [](const Slot& one) { return one.length; }).length;
    const std::size_t more = most - std::min(most, slot.text.size());
    std::string rests(more * ranks, '\0');
    if (more > 0) {
      std::string rest = own.substr(std::min(own.size(), slot.text.size()));
      rest.resize(more);
      PACELINE_TRY(parent_.all_gather(rest.data(), rests.data(), more, DataType::kUInt8));
    }
    std::vector<std::string> texts;
    for (const Slot& one : slots) {
      std::string text(one.text.data(), one.text.size());
      text += rests.substr(texts.size() * more, more);
      texts.push_back(text.substr(0, one.length));
    }
    return texts;
  }

  Communicator& parent_;
};

// A new communicator may need this number of descriptors on a rank: of its segment while that is
// made, and of connections to ranks that it shares no memory with, which begin when there is
// something to send.
std::int64_t descriptors_for(std::size_t far) {
  constexpr std::int64_t kWhileMade = 4, kForEach = 2;
  return kWhileMade + kForEach * static_cast<std::int64_t>(far);
}

// A rank that fails alone would leave the others of its color waiting for it.
Status check_descriptors(const std::vector<Choice>& choices, const Place& place, const Group& group,
                         const HostMap& hosts) {
  for (std::size_t rank = 0; rank < place.members.size(); ++rank) {
    const int member = place.members[rank];
    const std::int64_t needed =
        descriptors_for(place.members.size() - hosts.beside(static_cast<int>(rank)).size());
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

Group group_of(const Group& whole, const Place& place, const std::string& name) {
  Group part{.name = whole.name + "; " + name, .epoch = whole.epoch, .rank = place.rank};
  for (const int member : place.members)
    part.members.push_back(whole.members[static_cast<std::size_t>(member)]);
  return part;
}

std::vector<int> ranks_of(const Place& place, const std::vector<int>& new_ranks) {
  std::vector<int> ranks;
  for (const int rank : new_ranks) ranks.push_back(place.members[static_cast<std::size_t>(rank)]);
  return ranks;
}

// What a color says of itself at the end: nothing where all is well.
constexpr std::string_view kNoMemory = "no memory: ";

// What the members of a color reach each other by. `why_not`: they share no memory, because there
// is none left.
struct Reached {
  HostWorld world;
  std::string why_not;
  bool speaks = false;  // this rank tells of it, for its host
};

Result<Reached> meet_color(const Membership& membership, const Group& group, const Place& place,
                           Exchange& whole, bool others_share_memory, Deadline deadline) {
  Runtime& runtime = *membership.runtime;
  const GroupHosts hosts(runtime.hosts(), membership, group.rank, group.size());
  PartExchange beside(whole, ranks_of(place, hosts.beside));
  HostSegment found;
  if (hosts.shares_memory()) {
    PACELINE_TRY_ASSIGN(found, find_group_segment(runtime, group, hosts, 0, beside, deadline));
  } else if (others_share_memory) {
    PACELINE_TRY(listen_for_segments(beside, deadline));
  }
  // Who is in the runtime's room needs no place in the segment.
  if (found.segment != nullptr) found.segment->close_file();
  Reached reached{.world = {},
                  .why_not = found.why_not,
                  .speaks = !found.why_not.empty() && hosts.beside.front() == group.rank};
  // Processes of several hosts have had ports from the start.
  if (found.segment != nullptr || runtime.hosts().hosts() > 1) {
    PACELINE_TRY_ASSIGN(reached.world, make_world(membership, group, hosts, found, 0));
  }
  return reached;
}

// All of the whole learn that some have no memory. Their members tell each other addresses then,
// and have TCP; `lacks`: this rank is one of them.
Status reach_over_tcp(CommunicatorRequest& made, const Place& place, Exchange& whole, bool lacks,
                      const std::string& why_not, Deadline deadline) {
  Runtime& runtime = *made.membership.runtime;
  const auto address = [&]() -> Result<std::string> {
    if (!lacks) return std::string();
    if (runtime.environment().backend == BackendChoice::kShm)
      return Status(Code::kExhausted, Scope::kOperation,
                    "the new communicator has no shared memory, which PACELINE_BACKEND=shm asks "
                    "for: " +
                        why_not);
    return address_of_port(runtime, made.membership.process_of(made.group.rank));
  };
  const Result<std::string> own = address();
  PACELINE_TRY_ASSIGN(const auto addresses, whole.all({.key = "port", .task = "opened a port"},
                                                      own.ok() ? *own : std::string(), deadline));
  if (!lacks) return {};
  PACELINE_TRY(own.status());
  for (std::size_t rank = 0; rank < place.members.size(); ++rank)
    made.group.members[rank].address = addresses[static_cast<std::size_t>(place.members[rank])];
  const GroupHosts hosts(runtime.hosts(), made.membership, made.group.rank, made.group.size());
  PACELINE_TRY_ASSIGN(made.world, make_world(made.membership, made.group, hosts, {}, 0));
  return {};
}

void say_why_not(const CommunicatorRequest& made, const std::string& why_not) {
  const auto& log = made.membership.runtime->log();
  if (log != nullptr)
    log->write(Severity::kWarning, "the ranks of " + made.membership.name +
                                       " use TCP, because they cannot share memory: " + why_not);
}

struct Agreement {
  Status status;           // the same for all of a color: well, or not
  bool some_lack = false;  // memory, of the whole
};

// `own`: what has become of it on this rank.
Result<Agreement> agree(const std::string& own, const Group& group, const Place& place,
                        Exchange& whole, Deadline deadline) {
  PACELINE_TRY_ASSIGN(const auto texts,
                      whole.all({.key = "made", .task = "made the communicator"}, own, deadline));
  const auto lacks = [](const std::string& text) { return text.starts_with(kNoMemory); };
  Agreement agreement{.status = {}, .some_lack = std::ranges::any_of(texts, lacks)};
  for (std::size_t rank = 0; rank < place.members.size() && agreement.status.ok(); ++rank) {
    const std::string& text = texts[static_cast<std::size_t>(place.members[rank])];
    if (!text.empty() && !lacks(text))
      agreement.status =
          Status(Code::kUnavailable, Scope::kOperation,
                 "split: rank " + std::to_string(rank) + " of the new communicator, on " +
                     group.members[rank].host + ": " + text);
  }
  return agreement;
}

// What is known before ranks reach each other.
struct Terms {
  bool meets = false;              // there are others of this rank's color
  bool some_share_memory = false;  // of the whole
  Status of_color;                 // what is against it, the same on all of a color
  Status of_rank;                  // what is against it on this rank
};

// What the members of a color reach each other by, or why not.
Status make_world_of_color(CommunicatorRequest& made, const Place& place, const Terms& terms,
                           Exchange& whole, Deadline deadline) {
  Result<Reached> reached = Reached();
  if (terms.meets && terms.of_color.ok()) {
    reached =
        meet_color(made.membership, made.group, place, whole, terms.some_share_memory, deadline);
  } else if (terms.some_share_memory) {
    PartExchange alone(whole, place.members);
    PACELINE_TRY(listen_for_segments(alone, deadline));
  }
  Status here = !terms.of_color.ok()  ? terms.of_color
                : !terms.of_rank.ok() ? terms.of_rank
                                      : reached.status();
  const bool lacks = here.ok() && terms.meets && reached->world.transport == nullptr;
  if (here.ok()) made.world = std::move(reached->world);
  PACELINE_TRY_ASSIGN(Agreement agreed,
                      agree(lacks ? std::string(kNoMemory) : std::string(here.text()), made.group,
                            place, whole, deadline));
  if (agreed.some_lack) {
    const Status over_tcp =
        reach_over_tcp(made, place, whole, lacks, reached.ok() ? reached->why_not : "", deadline);
    if (here.ok()) here = over_tcp;
    PACELINE_TRY_ASSIGN(agreed,
                        agree(std::string(here.text()), made.group, place, whole, deadline));
  }
  PACELINE_TRY(here);
  PACELINE_TRY(agreed.status);
  if (terms.meets && reached->speaks) say_why_not(made, reached->why_not);
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
  PACELINE_TRY(core_->refuse_child());
  const Membership& whole = core_->membership();
  if (whole.runtime == nullptr) {
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "split: this communicator was made from parts and cannot be split");
  }
  const Runtime& runtime = *whole.runtime;
  CommunicatorRequest made{.began = runtime.clock().now()};
  const Deadline deadline = Deadline::after(runtime.clock(), core_->timeout());
  const Choice own = choice_of(color, key);
  std::vector<Choice> choices(static_cast<std::size_t>(size()));
  PACELINE_TRY(all_gather(&own, choices.data(), kChoiceWords, DataType::kInt64));
  // All operations that were called before have ended, and those of one number are of one split.
  const std::uint64_t number = core_->operations_begun() - 1;
  const Place place = place_of(choices, rank());
  const bool joins = color != kNoColor;
  const auto chosen =
      terms_of(options, {.timeout = core_->timeout(), .determinism = core_->determinism()},
               runtime.environment());
  Terms terms{.meets = joins && place.members.size() > 1,
              .some_share_memory = size() > 1 && runtime.hosts().some_share(),
              .of_rank = chosen.status()};
  std::string name = "split #";
  name.append(std::to_string(number)).append(", color ").append(std::to_string(color));
  made.membership = whole.part(place.members, name);
  made.group = group_of(group(), place, name);
  if (terms.meets) {
    const GroupHosts hosts(runtime.hosts(), made.membership, place.rank, made.group.size());
    terms.of_color = check_descriptors(choices, place, group(), hosts.map);
  }
  ParentExchange exchange(*this);
  PACELINE_TRY(make_world_of_color(made, place, terms, exchange, deadline));
  if (!joins) return std::optional<Communicator>();
  made.terms = *chosen;
  return std::optional<Communicator>(make_communicator(std::move(made)));
}

}  // namespace paceline
