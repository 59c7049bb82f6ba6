#include "launcher/control/waits.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "telemetry/flight_ring.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// A collective operation has the same key on all ranks of its communicator.
struct Key {
  std::uint64_t group = 0, sequence = 0;
  auto operator<=>(const Key&) const = default;
};

bool waits_long(const v1::Operation& operation) {
  return operation.running() && operation.seconds() >= kLongWaitSeconds;
}

const v1::Operation* find(const v1::Rank& rank, std::uint64_t group) {
  const auto& all = rank.communicators();
  const auto found = std::ranges::find(all, group, &v1::Operation::group);
  return found == all.end() ? nullptr : &*found;
}

bool has_all_ranks(const v1::Operation& operation, const v1::Snapshot& snapshot) {
  return operation.rank_count() == static_cast<std::uint32_t>(snapshot.ranks_size());
}

// "receive" of "receive(1000 x float32 from 3) before #12"
std::string_view kind_of(const v1::Operation& operation) {
  const std::string_view name = operation.name();
  return name.substr(0, name.find('('));
}

// Agents report no more. A rank with so many may have others.
constexpr int kMaxCommunicators = FlightRing::kParts;

class WaitFinder {
 public:
  explicit WaitFinder(const v1::Snapshot& snapshot) : snapshot_(snapshot) {}

  std::vector<Wait> find() && {
    for (int i = 0; i < snapshot_.ranks_size(); ++i)
      for (const v1::Operation& one : snapshot_.ranks(i).communicators()) {
        if (one.collective())
          called_[{one.group(), one.sequence()}].emplace_back(static_cast<std::uint32_t>(i), &one);
        else if (waits_long(one))
          add_message(static_cast<std::uint32_t>(i), one);
      }
    for (const auto& [key, called] : called_) add_collective(key, called);
    std::ranges::stable_sort(waits_, std::ranges::greater(),
                             [](const Wait& wait) { return wait.waiting.size(); });
    return std::move(waits_);
  }

 private:
  using Called = std::vector<std::pair<std::uint32_t, const v1::Operation*>>;

  const v1::Rank& rank(std::uint32_t number) const {
    return snapshot_.ranks(static_cast<int>(number));
  }

  void add_message(std::uint32_t number, const v1::Operation& operation) {
    Wait wait;
    wait.operation = operation;
    wait.waiting = {number};
    const bool is_known = operation.has_peer() && operation.peer() != number &&
                          has_all_ranks(operation, snapshot_) &&
                          operation.peer() < operation.rank_count();
    if (is_known && !waits_in_same(operation.peer(), number, operation))
      wait.late = {operation.peer()};
    waits_.push_back(std::move(wait));
  }

  // Whether the other end of a message waits for this one: its data is on its way.
  bool waits_in_same(std::uint32_t peer, std::uint32_t number, const v1::Operation& message) const {
    const v1::Operation* const theirs = launcher::find(rank(peer), message.group());
    return theirs != nullptr && theirs->running() && theirs->has_peer() &&
           theirs->peer() == number && kind_of(*theirs) != kind_of(message);
  }

  // Nothing has begun on the rank since.
  bool is_newest(std::uint32_t number, const v1::Operation& operation) const {
    const v1::Operation& newest = rank(number).operation();
    return newest.group() == operation.group() && newest.sequence() == operation.sequence();
  }

  void add_collective(const Key& key, const Called& called) {
    Wait wait;
    const std::string name = common_name(called, wait);
    for (const auto& [number, operation] : called) {
      if (!wait.has_majority || operation->name() != name)
        wait.different.emplace_back(number, operation->name());
      const bool counts = operation->name() == name || !wait.has_majority;
      if (counts && operation->failed() && is_newest(number, *operation))
        wait.failed.push_back(number);
      if (!counts || !waits_long(*operation)) continue;
      if (wait.waiting.empty() || operation->seconds() > wait.operation.seconds())
        wait.operation = *operation;
      wait.waiting.push_back(number);
    }
    const bool has_failed = !wait.failed.empty() && !wait.different.empty();
    if (wait.waiting.empty() && !has_failed) return;
    if (wait.waiting.empty())
      wait.operation = *launcher::find(rank(wait.failed.front()), key.group);
    else
      add_late(key, wait);
    waits_.push_back(std::move(wait));
  }

  // The operation that most ranks of this number have called.
  static std::string common_name(const Called& called, Wait& wait) {
    std::map<std::string_view, std::size_t> counts;
    for (const auto& [number, operation] : called) ++counts[operation->name()];
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    wait.has_majority = 2 * most->second > called.size();
    return std::string(most->first);
  }

  void add_late(const Key& key, Wait& wait) {
    std::size_t members = 0;
    const bool has_all = has_all_ranks(wait.operation, snapshot_);
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(snapshot_.ranks_size()); ++i) {
      const v1::Operation* const last = launcher::find(rank(i), key.group);
      const bool is_late =
          last != nullptr ? last->calls() <= key.sequence : has_all && has_called_nothing(rank(i));
      if (last != nullptr || is_late) ++members;
      if (is_late) wait.late.push_back(i);
    }
    if (wait.operation.rank_count() > members) wait.unknown = wait.operation.rank_count() - members;
  }

  // A communicator without operations is not reported.
  static bool has_called_nothing(const v1::Rank& rank) {
    if (rank.state() == v1::Rank::STATE_ENDED) return true;
    return rank.has_operation() && rank.communicators_size() < kMaxCommunicators;
  }

  const v1::Snapshot& snapshot_;
  std::map<Key, Called> called_;
  std::vector<Wait> waits_;
};

}  // namespace

std::vector<Wait> find_waits(const v1::Snapshot& snapshot) { return WaitFinder(snapshot).find(); }

}  // namespace paceline::launcher
