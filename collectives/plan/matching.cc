#include "collectives/plan/matching.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collectives/plan/text.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

// The steps of one direction of one pair, by sender * ranks + receiver.
struct Channel {
  std::vector<StepId> sends;
  std::vector<StepId> recvs;
};

std::vector<Channel> channels_of(std::span<const Plan> plans) {
  std::vector<Channel> channels(plans.size() * plans.size());
  for (const Plan& plan : plans) {
    for (StepId id = 0; id < plan.steps.size(); ++id) {
      const Step& step = plan.steps[id];
      if (step.kind == StepKind::kSend) {
        channels[index(plan.rank) * plans.size() + index(step.peer)].sends.push_back(id);
      } else if (step.kind == StepKind::kRecv) {
        channels[index(step.peer) * plans.size() + index(plan.rank)].recvs.push_back(id);
      }
    }
  }
  return channels;
}

Status match_channel(const Plan& sender, const Plan& receiver, const Channel& channel,
                     Partners& partners) {
  const std::size_t both = std::min(channel.sends.size(), channel.recvs.size());
  for (std::size_t k = 0; k < both; ++k) {
    const StepId send = channel.sends[k];
    const StepId recv = channel.recvs[k];
    if (sender.steps[send].count != receiver.steps[recv].count) {
      return defect(sender, send,
                    "is message " + std::to_string(k) + " to that rank and matches \"" +
                        describe(receiver, receiver.steps[recv]) + "\", but the counts differ");
    }
    partners[index(sender.rank)][send] = recv;
    partners[index(receiver.rank)][recv] = send;
  }
  if (channel.sends.size() > both) {
    return defect(sender, channel.sends[both], "the peer has no matching recv");
  }
  if (channel.recvs.size() > both) {
    return defect(receiver, channel.recvs[both], "the peer has no matching send");
  }
  return {};
}

// The steps that one rank's steps wait for.
class Waiting {
 public:
  Waiting(const Plan& plan, std::size_t ranks);

  bool begun(StepId id) const { return unmet_[id] == 0; }
  bool ended(StepId id) const { return ended_[id]; }
  StepId previous_message(StepId id) const { return previous_[id]; }
  /// Ends a step; calls begin(id) for each step that waited for nothing else.
  template <class Begin>
  void end(StepId id, Begin begin) {
    ended_[id] = true;
    for (std::uint32_t i = first_[id]; i < first_[id + 1]; ++i) {
      if (--unmet_[followers_[i]] == 0) begin(followers_[i]);
    }
  }

 private:
  template <class See>
  void for_each_edge(const Plan& plan, See see) const {
    for (StepId id = 0; id < plan.steps.size(); ++id) {
      for (const StepId dependency : plan.dependencies_of(plan.steps[id])) see(dependency, id);
      if (previous_[id] != kNoStep) see(previous_[id], id);
    }
  }

  std::vector<StepId> previous_;
  std::vector<std::uint32_t> unmet_;
  std::vector<std::uint32_t> first_;  // into followers_, by step
  std::vector<StepId> followers_;
  std::vector<bool> ended_;
};

Waiting::Waiting(const Plan& plan, std::size_t ranks)
    : previous_(plan.steps.size(), kNoStep),
      unmet_(plan.steps.size(), 0),
      first_(plan.steps.size() + 1, 0),
      ended_(plan.steps.size(), false) {
  std::vector<StepId> last_send(ranks, kNoStep);
  std::vector<StepId> last_recv(ranks, kNoStep);
  for (StepId id = 0; id < plan.steps.size(); ++id) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::kSend && step.kind != StepKind::kRecv) continue;
    auto& last = step.kind == StepKind::kSend ? last_send : last_recv;
    previous_[id] = std::exchange(last[index(step.peer)], id);
  }
  for_each_edge(plan, [&](StepId from, StepId to) { ++first_[from + 1], ++unmet_[to]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  followers_.resize(first_.back());
  std::vector<std::uint32_t> next(first_.begin(), first_.end() - 1);
  for_each_edge(plan, [&](StepId from, StepId to) { followers_[next[from]++] = to; });
}

class Rendezvous {
 public:
  Rendezvous(std::span<const Plan> plans, const Partners& partners)
      : plans_(plans), partners_(partners) {
    for (const Plan& plan : plans) waiting_.emplace_back(plan, plans.size());
  }

  Result<std::vector<StepRef>> run() {
    std::size_t steps = 0;
    for (const Plan& plan : plans_) {
      steps += plan.steps.size();
      for (StepId id = 0; id < plan.steps.size(); ++id) {
        if (waiting(plan.rank).begun(id)) begun_.push_back({plan.rank, id});
      }
    }
    order_.reserve(steps);
    while (!begun_.empty()) {
      const StepRef ref = begun_.back();
      begun_.pop_back();
      on_begin(ref);
    }
    if (order_.size() < steps) return stuck();
    return std::move(order_);
  }

 private:
  const Step& step(StepRef ref) const { return plans_[index(ref.rank)].steps[ref.step]; }
  Waiting& waiting(int rank) { return waiting_[index(rank)]; }
  StepRef partner(StepRef ref) const {
    return {step(ref).peer, partners_[index(ref.rank)][ref.step]};
  }

  // The second end of a message to come by here ends both.
  void on_begin(StepRef ref) {
    const StepKind kind = step(ref).kind;
    if (kind == StepKind::kCopy || kind == StepKind::kReduce) return end(ref);
    const StepRef other = partner(ref);
    if (waiting(ref.rank).ended(ref.step) || !waiting(other.rank).begun(other.step)) return;
    end(kind == StepKind::kSend ? ref : other);
    end(kind == StepKind::kSend ? other : ref);
  }

  void end(StepRef ref) {
    order_.push_back(ref);
    waiting(ref.rank).end(ref.step, [&](StepId id) { begun_.push_back({ref.rank, id}); });
  }

  // Follows what a step waits for until it comes back to a step seen before.
  Status stuck() {
    StepRef at;
    for (const Plan& plan : plans_) {
      for (StepId id = 0; id < plan.steps.size(); ++id) {
        if (!waiting(plan.rank).ended(id)) at = {plan.rank, id};
      }
    }
    std::vector<std::vector<bool>> seen;
    for (const Plan& plan : plans_) seen.emplace_back(plan.steps.size(), false);
    while (!seen[index(at.rank)][at.step]) {
      seen[index(at.rank)][at.step] = true;
      at = waits_for(at);
    }
    const StepRef next = waits_for(at);
    return defect(plans_[index(at.rank)], at.step,
                  "deadlock: a cycle of steps wait for each other; this one waits for rank " +
                      std::to_string(next.rank) + ", step " + std::to_string(next.step) + " (" +
                      describe(plans_[index(next.rank)], step(next)) + ")");
  }

  StepRef waits_for(StepRef ref) {
    if (waiting(ref.rank).begun(ref.step)) return partner(ref);
    for (const StepId id : plans_[index(ref.rank)].dependencies_of(step(ref))) {
      if (!waiting(ref.rank).ended(id)) return {ref.rank, id};
    }
    return {ref.rank, waiting(ref.rank).previous_message(ref.step)};
  }

  std::span<const Plan> plans_;
  const Partners& partners_;
  std::vector<Waiting> waiting_;
  std::vector<StepRef> begun_;
  std::vector<StepRef> order_;
};

}  // namespace

Result<Partners> match(std::span<const Plan> plans) {
  Partners partners;
  for (const Plan& plan : plans) partners.emplace_back(plan.steps.size(), kNoStep);
  const std::vector<Channel> channels = channels_of(plans);
  for (std::size_t i = 0; i < channels.size(); ++i) {
    const Plan& sender = plans[i / plans.size()];
    const Plan& receiver = plans[i % plans.size()];
    PACELINE_TRY(match_channel(sender, receiver, channels[i], partners));
  }
  return partners;
}

Result<std::vector<StepRef>> rendezvous_order(std::span<const Plan> plans,
                                              const Partners& partners) {
  return Rendezvous(plans, partners).run();
}

}  // namespace paceline
