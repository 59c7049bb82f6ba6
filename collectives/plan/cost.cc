#include "collectives/plan/cost.h"

#include <algorithm>
#include <vector>

#include "collectives/plan/matching.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

// Messages in the longest chain that ends in a step of these plans.
std::size_t longest_chain(std::span<const Plan> plans, const Partners& partners,
                          std::span<const StepRef> order) {
  std::vector<std::vector<std::size_t>> chains;
  for (const Plan& plan : plans) chains.emplace_back(plan.steps.size(), 0);
  std::size_t longest = 0;
  for (const StepRef& ref : order) {
    const std::size_t rank = static_cast<std::size_t>(ref.rank);
    const Step& step = plans[rank].steps[ref.step];
    std::size_t& chain = chains[rank][ref.step];
    if (step.kind == StepKind::kRecv) {
      // It reads nothing: its dependencies are those of the memory that it writes.
      const StepId send = partners[rank][ref.step];
      chain = chains[static_cast<std::size_t>(step.peer)][send] + 1;
    } else {
      for (const StepId id : plans[rank].dependencies_of(step))
        chain = std::max(chain, chains[rank][id]);
    }
    longest = std::max(longest, chain);
  }
  return longest;
}

}  // namespace

void Cost::raise_to(const Cost& other) {
  rounds = std::max(rounds, other.rounds);
  messages = std::max(messages, other.messages);
  count_sent = std::max(count_sent, other.count_sent);
  count_reduced = std::max(count_reduced, other.count_reduced);
  count_between_hosts = std::max(count_between_hosts, other.count_between_hosts);
}

void HostLines::add(int from, int to, std::size_t count) {
  const int host = host_of(from, hosts_);
  if (host != host_of(to, hosts_)) sent_[static_cast<std::size_t>(host)] += count;
}

std::size_t HostLines::most() const {
  std::size_t most = 0;
  for (const std::size_t sent : sent_) most = std::max(most, sent);
  return most;
}

Result<Cost> measure(std::span<const Plan> plans, const std::vector<int>* hosts) {
  PACELINE_TRY_ASSIGN(const Partners partners, match(plans));
  PACELINE_TRY_ASSIGN(const std::vector<StepRef> order, rendezvous_order(plans, partners));
  Cost cost{.rounds = longest_chain(plans, partners, order)};
  HostLines lines(static_cast<int>(plans.size()), hosts);
  for (const Plan& plan : plans) {
    Cost own;
    for (const Step& step : plan.steps) {
      if (step.kind == StepKind::kSend) {
        ++own.messages;
        own.count_sent += step.count;
        lines.add(plan.rank, step.peer, step.count);
      }
      if (step.kind == StepKind::kReduce)
        own.count_reduced += step.count * (step.operand_count - 1);
    }
    cost.raise_to(own);
  }
  cost.count_between_hosts = lines.most();
  return cost;
}

}  // namespace paceline
