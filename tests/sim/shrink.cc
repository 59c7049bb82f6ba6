#include "tests/sim/shrink.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace paceline::testing {
namespace {

using std::chrono::microseconds;

Scenario without_calls(const Scenario& scenario, std::size_t first, std::size_t count) {
  Scenario less = scenario;
  const auto begin = less.calls.begin() + static_cast<std::ptrdiff_t>(first);
  less.calls.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  std::erase_if(less.deviations, [&](const Deviation& deviation) {
    return deviation.index >= first && deviation.index < first + count;
  });
  for (Deviation& deviation : less.deviations) {
    if (deviation.index >= first) deviation.index -= count;
  }
  return less;
}

void leave_out_calls(const Scenario& scenario, std::vector<Scenario>& to) {
  const std::size_t calls = scenario.calls.size();
  for (std::size_t chunk = calls; chunk >= 1; chunk /= 2) {
    for (std::size_t first = 0; first + chunk <= calls; first += chunk) {
      to.push_back(without_calls(scenario, first, chunk));
    }
  }
}

Scenario with_ranks(const Scenario& scenario, int ranks) {
  Scenario less = scenario;
  less.ranks = ranks;
  const auto trim = [ranks](std::vector<int>& list) {
    std::erase_if(list, [ranks](int rank) { return rank >= ranks; });
  };
  for (Call& call : less.calls) call.root = std::min(call.root, ranks - 1);
  for (Deviation& deviation : less.deviations) {
    trim(deviation.ranks);
    deviation.call.root = std::min(deviation.call.root, ranks - 1);
  }
  for (Fault& fault : less.faults) trim(fault.ranks);
  // All or none: nobody is left to disagree, to be lost, or to be cut off from.
  const auto pointless = [ranks](const auto& each) {
    return each.ranks.empty() || std::cmp_equal(each.ranks.size(), ranks);
  };
  std::erase_if(less.deviations, pointless);
  std::erase_if(less.faults, pointless);
  return less;
}

void leave_out_ranks(const Scenario& scenario, std::vector<Scenario>& to) {
  for (const int ranks : {2, scenario.ranks / 2, scenario.ranks - 1}) {
    if (ranks >= 2 && ranks < scenario.ranks) to.push_back(with_ranks(scenario, ranks));
  }
}

void leave_out_faults(const Scenario& scenario, std::vector<Scenario>& to) {
  for (std::size_t i = 0; i < scenario.faults.size(); ++i) {
    Scenario less = scenario;
    less.faults.erase(less.faults.begin() + static_cast<std::ptrdiff_t>(i));
    to.push_back(std::move(less));
  }
}

// Changes a copy, and keeps it if that made a difference.
template <class Change>
void plainer(const Scenario& scenario, std::vector<Scenario>& to, const Change& change) {
  Scenario less = scenario;
  change(less);
  if (less != scenario) to.push_back(std::move(less));
}

void plain_calls(const Scenario& scenario, std::vector<Scenario>& to) {
  for (std::size_t i = 0; i < scenario.calls.size(); ++i) {
    const auto change = [&](auto&& what) {
      plainer(scenario, to, [&](Scenario& less) { what(less.calls[i]); });
    };
    change([](Call& call) { call = {}; });
    change([](Call& call) { call.count = std::min<std::size_t>(call.count, 1); });
    change([](Call& call) { call.count /= 2; });
    change([](Call& call) { call.asynchronous = call.in_place = false; });
    change([](Call& call) { call.type = DataType::kFloat32; });
    change([](Call& call) { call.op = ReduceOp::kSum; });
    change([](Call& call) { call.root = 0; });
  }
}

void plain_network(const Scenario& scenario, std::vector<Scenario>& to) {
  plainer(scenario, to, [](Scenario& less) { less.algorithm.clear(); });
  plainer(scenario, to, [](Scenario& less) { less.segment_bytes = 4096; });
  plainer(scenario, to, [](Scenario& less) { less.synchronous_percent = 0; });
  plainer(scenario, to, [](Scenario& less) {
    less.min_delay = less.max_delay = less.loss_delay = microseconds(10);
  });
}

// The first that fails: the scenario, or what other schedules make of it.
std::optional<Scenario> failing_schedule(const Scenario& scenario,
                                         FunctionRef<bool(const Scenario&)> fails, int schedules,
                                         int& tries, Random& random) {
  Scenario varied = scenario;
  for (int schedule = 0; schedule < schedules && tries > 0; ++schedule) {
    --tries;
    if (fails(varied)) return varied;
    varied.seed = random.below(1'000'000);
    for (std::size_t i = 0; i < varied.faults.size(); ++i) {
      varied.faults[i].step = random.below(scenario.faults[i].step + 2);
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Scenario> simpler(const Scenario& scenario) {
  std::vector<Scenario> all;
  leave_out_calls(scenario, all);
  leave_out_ranks(scenario, all);
  leave_out_faults(scenario, all);
  plain_calls(scenario, all);
  plain_network(scenario, all);
  return all;
}

Scenario shrink(const Scenario& scenario, FunctionRef<bool(const Scenario&)> fails,
                const ShrinkOptions& options) {
  Scenario shortest = scenario;
  Random random(scenario.seed);
  int tries = options.tries;
  bool shorter = true;
  while (std::exchange(shorter, false)) {
    for (const Scenario& candidate : simpler(shortest)) {
      const auto failing = failing_schedule(candidate, fails, options.schedules, tries, random);
      if (!failing) continue;
      shortest = *failing;
      shorter = true;
      break;
    }
  }
  return shortest;
}

}  // namespace paceline::testing
