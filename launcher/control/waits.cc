#include "launcher/control/waits.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

// Of a collective operation: the same on all ranks of its communicator.
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

// The operation that most ranks of this number have called; the others called a different one.
std::string common_name(const std::vector<const v1::Operation*>& called) {
  std::map<std::string_view, std::size_t> counts;
  for (const v1::Operation* one : called) ++counts[one->name()];
  return std::string(
      std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; })->first);
}

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

  // Ranks of other communicators have other numbers there: then the other end is not known.
  void add_message(std::uint32_t rank, const v1::Operation& operation) {
    Wait wait{.operation = operation, .waiting = {rank}, .late = {}, .different = {}};
    const bool is_known = operation.has_peer() && operation.peer() != rank &&
                          has_all_ranks(operation, snapshot_) &&
                          operation.peer() < operation.rank_count();
    if (is_known) wait.late = {operation.peer()};
    waits_.push_back(std::move(wait));
  }

  void add_collective(const Key& key, const Called& called) {
    std::vector<const v1::Operation*> operations;
    for (const auto& [rank, operation] : called) operations.push_back(operation);
    const std::string name = common_name(operations);
    Wait wait;
    bool has_failed = false;
    for (const auto& [rank, operation] : called) {
      if (operation->name() != name) {
        wait.different.emplace_back(rank, operation->name());
        continue;
      }
      has_failed = has_failed || operation->failed();
      if (!waits_long(*operation) && !operation->failed()) continue;
      if (wait.waiting.empty() || operation->seconds() > wait.operation.seconds())
        wait.operation = *operation;
      wait.waiting.push_back(rank);
    }
    if (wait.waiting.empty() || (has_failed && wait.different.empty())) return;
    if (!has_failed) add_late(key, wait);
    waits_.push_back(std::move(wait));
  }

  void add_late(const Key& key, Wait& wait) {
    std::size_t known = 0;
    const bool has_all = has_all_ranks(wait.operation, snapshot_);
    for (int i = 0; i < snapshot_.ranks_size(); ++i) {
      const v1::Operation* const last = launcher::find(snapshot_.ranks(i), key.group);
      if (last != nullptr) ++known;
      const bool is_late = last != nullptr ? last->calls() <= key.sequence : has_all;
      if (is_late) wait.late.push_back(static_cast<std::uint32_t>(i));
    }
    const std::size_t ranks = has_all ? 0 : wait.operation.rank_count();
    if (ranks > known) wait.unknown = ranks - known;
  }

  const v1::Snapshot& snapshot_;
  std::map<Key, Called> called_;
  std::vector<Wait> waits_;
};

}  // namespace

std::vector<Wait> find_waits(const v1::Snapshot& snapshot) { return WaitFinder(snapshot).find(); }

}  // namespace paceline::launcher
