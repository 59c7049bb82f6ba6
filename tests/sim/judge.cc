#include "tests/sim/judge.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace paceline::testing {
namespace {

bool holds(const std::vector<int>& ranks, int rank) { return std::ranges::count(ranks, rank) > 0; }

// A call as errors quote it.
struct Quote {
  std::uint64_t number;
  std::string words;
};

// Those of the calls of one rank, and of the messages in them: its own, then close().
std::vector<Quote> quotes_of(const Scenario& scenario, int rank) {
  std::vector<Call> calls = calls_of(scenario, rank);
  calls.push_back({.kind = OperationKind::kClose});
  std::vector<Quote> quotes;
  std::uint64_t number = 0;
  for (const Call& call : calls) {
    quotes.push_back({number, words_of(call, number, scenario.ranks)});
    if (is_collective(call.kind)) {
      ++number;
      continue;
    }
    for (Signature message : message_signatures(call, rank, scenario.ranks)) {
      message.sequence = number;
      quotes.push_back({number, message.to_string()});
    }
  }
  return quotes;
}

std::string milliseconds(Duration time) { return std::to_string(time.count() / 1'000'000) + " ms"; }

// Looks at the calls of one rank.
class RankJudge {
 public:
  RankJudge(const Scenario& scenario, const Outcome& outcome, int rank)
      : scenario_(scenario),
        outcome_(outcome),
        rank_(rank),
        own_(calls_of(scenario, rank)),
        calls_(outcome.ranks[static_cast<std::size_t>(rank)].calls) {}

  std::string judge_schedule() const {
    if (calls_.size() != own_.size() + 1) return said(0, "did not make all of its calls");
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      std::string wrong = judge_time(i, scenario_.timeout + kGrace);
      if (wrong.empty()) wrong = judge_sameness(i);
      if (wrong.empty()) wrong = calls_[i].status.ok() ? judge_success(i) : judge_name(i);
      if (!wrong.empty()) return said(i, wrong);
    }
    return judge_leaving();
  }

  std::string judge_disagreement(std::size_t first) const {
    if (calls_.size() != own_.size() + 1) return said(0, "did not make all of its calls");
    bool known = false;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      std::string wrong = judge_time(i, scenario_.timeout);
      if (wrong.empty()) wrong = judge_sameness(i);
      const CallOutcome& call = calls_[i];
      // Also behind the deviation: what has come came from a rank that made the same call.
      if (wrong.empty()) wrong = call.wrong;
      if (wrong.empty() && i < first && call.status.ok()) wrong = judge_success(i);
      if (wrong.empty() && !call.status.ok()) wrong = judge_sides(call.status);
      known = known || !call.status.ok();
      if (wrong.empty() && i >= first && waits_for_all(i) && !known) {
        wrong = "succeeded, but ranks had called different operations";
      }
      if (!wrong.empty()) return said(i, wrong);
    }
    return judge_leaving();
  }

 private:
  std::string said(std::size_t index, const std::string& what) const {
    const std::string call = index >= own_.size() ? "close()" : std::string(name(own_[index].kind));
    return "rank " + std::to_string(rank_) + ", call " + std::to_string(index) + " (" + call +
           "): " + what;
  }

  bool waits_for_all(std::size_t index) const {
    if (index >= own_.size()) return true;
    const Call& call = own_[index];
    const bool needs_all =
        call.kind == OperationKind::kAllReduce || call.kind == OperationKind::kReduceScatter ||
        call.kind == OperationKind::kAllGather || call.kind == OperationKind::kAllToAll;
    // Those who exchange counts of their own tell each other of every block, empty or not.
    return call.kind == OperationKind::kBarrier || call.kind == OperationKind::kAllToAllV ||
           (needs_all && call.count > 0);
  }

  // Its deadline counts from the call; who asks later is told at once.
  std::string judge_time(std::size_t index, Duration allowed) const {
    const CallOutcome& call = calls_[index];
    const TimePoint latest = std::max(call.began_at + allowed, call.asked_at + outcome_.slack);
    if (call.ended_at <= latest) return {};
    return "ended after " + milliseconds(call.ended_at - call.began_at) + ": " +
           call.status.to_string();
  }

  // Who has an error keeps it.
  std::string judge_sameness(std::size_t index) const {
    if (index == 0 || calls_[index - 1].status.ok()) return {};
    const std::string before = calls_[index - 1].status.to_string();
    const std::string now = calls_[index].status.to_string();
    return before == now ? "" : "after [" + before + "] came [" + now + "]";
  }

  std::string judge_success(std::size_t index) const {
    const CallOutcome& call = calls_[index];
    if (!call.wrong.empty()) return call.wrong;
    const bool barrier = index >= own_.size() || own_[index].kind == OperationKind::kBarrier;
    for (int other = 0; barrier && other < scenario_.ranks; ++other) {
      const auto& theirs = outcome_.ranks[static_cast<std::size_t>(other)].calls;
      const bool begun = index < theirs.size() && theirs[index].begun != 0;
      if (!begun || theirs[index].begun > call.ended) {
        return "ended before rank " + std::to_string(other) + " had begun it";
      }
    }
    return {};
  }

  std::string judge_name(std::size_t index) const {
    const Status& status = calls_[index].status;
    const int named = status.culprit().rank;
    const bool code = status.code() == Code::kPeerLost || status.code() == Code::kTimeout;
    const std::vector<int>& cut = outcome_.cut_off;
    const bool other_side = !cut.empty() && named >= 0 && named < scenario_.ranks &&
                            holds(cut, named) != holds(cut, rank_);
    if (!code || !(other_side || holds(outcome_.lost, named))) {
      return "failed without cause or with a wrong name (rank " + std::to_string(named) +
             "): " + status.to_string();
    }
    if (status.code() == Code::kTimeout && every_fault_is_seen()) {
      return "ended only by its deadline, though the loss was to be seen: " + status.to_string();
    }
    return judge_whereabouts(status.culprit());
  }

  // Connections to a lost rank end, those across a cut only fall silent.
  bool every_fault_is_seen() const {
    return std::ranges::all_of(scenario_.faults,
                               [](const Fault& fault) { return fault.kind == Fault::Kind::kLoss; });
  }

  // Where the culprit is, and which call of some rank was in progress when it was found.
  std::string judge_whereabouts(const Culprit& culprit) const {
    if (culprit.host != host_of(culprit.rank)) {
      return "rank " + std::to_string(culprit.rank) + " is not on \"" + culprit.host + "\"";
    }
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      const auto number = static_cast<std::uint64_t>(culprit.sequence);
      for (const Quote& quote : quotes_of(scenario_, rank)) {
        if (quote.number == number && quote.words == culprit.operation) return {};
      }
    }
    return "no rank was in operation " + std::to_string(culprit.sequence) + " \"" +
           culprit.operation + "\"";
  }

  std::string host_of(int rank) const { return outcome_.hosts[static_cast<std::size_t>(rank)]; }

  std::string judge_sides(const Status& status) const {
    if (status.code() != Code::kMismatch) return "failed otherwise: " + status.to_string();
    const int named = status.culprit().rank;
    for (int rank = 0; rank < scenario_.ranks; ++rank) {
      for (int other = 0; other < scenario_.ranks; ++other) {
        const bool sides = deviates(rank) != deviates(other) && (named == rank || named == other);
        if (!sides || !quotes(status.text(), rank, other)) continue;
        return status.culprit().host == host_of(named)
                   ? ""
                   : "has a wrong host in its name: " + status.to_string();
      }
    }
    return "does not name both sides with what they called: " + status.to_string();
  }

  bool deviates(int rank) const { return holds(scenario_.deviations.front().ranks, rank); }

  // "rank 1 on a called … where rank 0 on b called …", with a call of each that it has made.
  bool quotes(const std::string& text, int rank, int other) const {
    for (const auto& [number, theirs] : quotes_of(scenario_, rank)) {
      for (const auto& [others_number, others] : quotes_of(scenario_, other)) {
        const std::string sentence =
            called(rank, theirs) + " where " + called(other, others) + ": ";
        // Equal calls disagree only in what came before them, or in counts of their own.
        const bool differ = theirs != others ||
                            text.ends_with("the operations before this one differ") ||
                            text.find(" bytes, expected ") != std::string::npos;
        if (differ && text.find(sentence) != std::string::npos) return true;
      }
    }
    return false;
  }

  std::string called(int rank, const std::string& words) const {
    return "rank " + std::to_string(rank) + " on " + host_of(rank) + " called " + words;
  }

  std::string judge_leaving() const {
    const Duration took = outcome_.ranks[static_cast<std::size_t>(rank_)].leaving;
    if (took <= kGrace + outcome_.slack) return {};
    return said(own_.size(), "left only after " + milliseconds(took));
  }

  const Scenario& scenario_;
  const Outcome& outcome_;
  const int rank_;
  const std::vector<Call> own_;
  const std::vector<CallOutcome>& calls_;
};

// The first call that some rank makes otherwise than another.
std::size_t first_difference(const Scenario& scenario) {
  std::size_t first = scenario.calls.size();
  for (const Deviation& deviation : scenario.deviations) {
    const std::vector<Call> theirs = calls_of(scenario, deviation.ranks.front());
    std::size_t same = 0;
    while (same < std::min(theirs.size(), first) &&
           theirs[same].agrees_with(scenario.calls[same])) {
      ++same;
    }
    first = std::min(first, same);
  }
  return first;
}

}  // namespace

std::string judge_schedule(const Scenario& scenario, const Outcome& outcome) {
  if (!outcome.simulated.ok()) return outcome.simulated.to_string();
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    if (holds(outcome.lost, rank)) continue;
    std::string wrong = RankJudge(scenario, outcome, rank).judge_schedule();
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string judge_disagreement(const Scenario& scenario, const Outcome& outcome) {
  if (!outcome.simulated.ok()) return outcome.simulated.to_string();
  const std::size_t first = first_difference(scenario);
  for (int rank = 0; rank < scenario.ranks; ++rank) {
    std::string wrong = RankJudge(scenario, outcome, rank).judge_disagreement(first);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace paceline::testing
