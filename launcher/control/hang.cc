#include "launcher/control/hang.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "comm/base/text.h"
#include "launcher/control/rank_words.h"
#include "launcher/control/waits.h"

namespace paceline::launcher {
namespace {

namespace v1 = job::v1;

constexpr std::size_t kMaxWaits = 6;
constexpr std::size_t kMaxNamed = 4;  // ranks in a sentence, or with a sentence each

class Explanation {
 public:
  explicit Explanation(const v1::Snapshot& snapshot)
      : snapshot_(snapshot), waits_(find_waits(snapshot)) {
    for (const Wait& wait : waits_) waiting_.insert(wait.waiting.begin(), wait.waiting.end());
    std::ranges::stable_partition(waits_, [this](const Wait& wait) { return is_cause(wait); });
    for (std::size_t i = 0; i < waits_.size(); ++i)
      for (const std::uint32_t rank : waits_[i].waiting) waits_of_[rank].push_back(i);
  }

  Hang tell() && {
    if (snapshot_.output_blocked_seconds() >= kLongWaitSeconds)
      say("nobody has read the output of `paceline run` for " +
          lasting_text(snapshot_.output_blocked_seconds()) +
          ": ranks that write wait, and their hosts are not heard");
    for (std::size_t i = 0; i < std::min(waits_.size(), kMaxWaits); ++i) tell(waits_[i]);
    if (waits_.size() > kMaxWaits)
      say("ranks wait in " + count_text(waits_.size() - kMaxWaits, "more operation"));
    tell_cycle();
    tell_links();
    for (const Wait& wait : waits_)
      if (is_cause(wait)) suspect(suspects_of(wait));
    return std::move(hang_);
  }

 private:
  void say(std::string text) { hang_.lines.push_back(std::move(text)); }

  // No rank that it waits for waits itself.
  bool is_cause(const Wait& wait) const {
    return std::ranges::none_of(wait.late,
                                [this](std::uint32_t rank) { return waiting_.contains(rank); });
  }

  const v1::Rank& rank(std::uint32_t number) const {
    return snapshot_.ranks(static_cast<int>(number));
  }

  std::string name(std::uint32_t number) const { return member_text(rank(number).member()); }

  // "worker 1, worker 2 and 3 more"
  std::string names(const std::vector<std::uint32_t>& ranks) const {
    std::vector<std::string> all;
    for (const std::uint32_t one : ranks) all.push_back(name(one));
    return list_text(all, kMaxNamed);
  }

  void tell(const Wait& wait) {
    const v1::Operation& operation = wait.operation;
    const std::string what = printable(operation.name());
    if (!wait.has_majority)
      say("ranks have called different operations with the number " +
          std::to_string(operation.sequence()));
    else if (wait.waiting.empty())
      say(what + " has failed on " + count_text(wait.failed.size(), "rank"));
    if (wait.has_majority && !wait.waiting.empty())
      say(count_text(wait.waiting.size(), "rank") +
          (wait.waiting.size() == 1 ? " waits in " : " wait in ") + what + " for " +
          lasting_text(operation.seconds()) + whom_text(wait));
    for (std::size_t i = 0; i < std::min(wait.different.size(), kMaxNamed); ++i)
      say(name(wait.different[i].first) + " has called " + printable(wait.different[i].second) +
          (wait.has_majority ? " instead" : ""));
    for (std::size_t i = 0; i < std::min(wait.late.size(), kMaxNamed); ++i) tell(wait.late[i]);
    for (const std::uint32_t one : wait.waiting)
      if (const std::string stopped = stop_text(rank(one)); !stopped.empty())
        say(name(one) + ": " + stopped);
  }

  // "; worker 2 has not called it"
  std::string whom_text(const Wait& wait) const {
    if (!wait.operation.collective()) return message_text(wait);
    std::string text;
    if (!wait.late.empty())
      text += "; " + names(wait.late) +
              (wait.late.size() == 1 ? " has not called it" : " have not called it");
    if (wait.unknown > 0) text += "; nothing is known of " + count_text(wait.unknown, "more rank");
    const bool is_complete = text.empty() && wait.different.empty();
    if (is_complete) text = "; all its ranks have called it";
    if (!wait.failed.empty()) text += "; it has failed on " + names(wait.failed);
    return text;
  }

  std::string message_text(const Wait& wait) const {
    std::string text = " on " + name(wait.waiting[0]);
    if (!wait.late.empty()) return text + "; the other end is " + names(wait.late);
    return wait.operation.has_peer() ? text + "; the other end waits in it too" : text;
  }

  // A rank that waits itself is in the sentence about its own operation.
  void tell(std::uint32_t number) {
    const auto others = waits_of_.find(number);
    if (others != waits_of_.end()) {
      const v1::Operation& operation = waits_[others->second.front()].operation;
      return say(name(number) + ": it waits in " + printable(operation.name()));
    }
    say(name(number) + ": " + activity_text(rank(number), host_of(rank(number))));
  }

  const v1::Host& host_of(const v1::Rank& rank) const {
    const auto found = std::ranges::find(snapshot_.hosts(), rank.host(), &v1::Host::name);
    return found == snapshot_.hosts().end() ? v1::Host::default_instance() : *found;
  }

  // The waits in which ranks are for which this one waits.
  std::set<std::size_t> after(std::size_t wait) const {
    std::set<std::size_t> next;
    for (const std::uint32_t late : waits_[wait].late)
      if (const auto found = waits_of_.find(late); found != waits_of_.end())
        next.insert(found->second.begin(), found->second.end());
    return next;
  }

  // The shortest way from a wait back to itself: by breadth, so each wait is visited once.
  std::vector<std::size_t> cycle_of(std::size_t start) const {
    std::map<std::size_t, std::size_t> before;
    std::vector<std::size_t> open{start};
    for (std::size_t i = 0; i < open.size(); ++i)
      for (const std::size_t next : after(open[i])) {
        if (next == start) {
          std::vector<std::size_t> cycle{open[i]};
          while (cycle.back() != start) cycle.push_back(before.at(cycle.back()));
          std::ranges::reverse(cycle);
          return cycle;
        }
        if (before.emplace(next, open[i]).second) open.push_back(next);
      }
    return {};
  }

  void tell_cycle() {
    std::vector<std::size_t> cycle;
    for (std::size_t i = 0; i < std::min(waits_.size(), kMaxWaits) && cycle.empty(); ++i)
      cycle = cycle_of(i);
    if (cycle.size() < 2) return;
    bool are_collective = true;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const Wait& wait = waits_[cycle[i]];
      const Wait& next = waits_[cycle[(i + 1) % cycle.size()]];
      are_collective = are_collective && wait.operation.collective();
      const auto both = std::ranges::find_if(wait.late, [&next](std::uint32_t rank) {
        return std::ranges::find(next.waiting, rank) != next.waiting.end();
      });
      if (both == wait.late.end()) continue;
      say(name(*both) + " waits in " + printable(next.operation.name()) + ", so that it cannot " +
          (wait.operation.collective() ? "call " : "answer ") + printable(wait.operation.name()));
    }
    say(are_collective ? "the ranks wait for each other: they called operations of different "
                         "communicators in different orders"
                       : "the ranks may wait for each other");
    for (const std::size_t one : cycle) suspect(waits_[one].waiting);
  }

  void tell_links() {
    if (waits_.empty()) return;
    for (const v1::Link& link : snapshot_.performance().links())
      if (link.unanswered_seconds() >= kLongWaitSeconds)
        say("data from " + printable(link.from()) + " to " + printable(link.to()) +
            " has had no acknowledgement for " + lasting_text(link.unanswered_seconds()) +
            ": the link does not deliver it");
  }

  static std::vector<std::uint32_t> suspects_of(const Wait& wait) {
    if (!wait.late.empty()) return wait.late;
    if (wait.different.empty()) return wait.waiting;
    std::vector<std::uint32_t> ranks;
    for (const auto& [rank, operation] : wait.different) ranks.push_back(rank);
    return ranks;
  }

  void suspect(const std::vector<std::uint32_t>& ranks) {
    for (const std::uint32_t one : ranks) {
      const bool is_new = std::ranges::find(hang_.suspects, one) == hang_.suspects.end();
      if (is_new && rank(one).state() == v1::Rank::STATE_RUNNING &&
          hang_.suspects.size() < kMaxSuspects)
        hang_.suspects.push_back(one);
    }
  }

  const v1::Snapshot& snapshot_;
  std::set<std::uint32_t> waiting_;                             // ranks in a wait
  std::vector<Wait> waits_;                                     // causes first
  std::map<std::uint32_t, std::vector<std::size_t>> waits_of_;  // by rank
  Hang hang_;
};

}  // namespace

Hang explain_hang(const v1::Snapshot& snapshot) { return Explanation(snapshot).tell(); }

}  // namespace paceline::launcher
