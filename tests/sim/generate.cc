// Scenarios from seeds.

#include <algorithm>
#include <array>
#include <span>

#include "tests/sim/scenario.h"

namespace paceline::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

template <class T>
T pick(std::span<const T> from, Random& random) {
  return from[random.below(from.size())];
}

int pick_rank(int ranks, Random& random) {
  return static_cast<int>(random.below(static_cast<std::uint64_t>(ranks)));
}

std::size_t pick_count(Random& random) {
  // Nothing, one, fewer than ranks, prime, just around powers of two, several segments.
  static constexpr std::size_t kCounts[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 64, 101, 257};
  if (random.chance(0.05)) return 1009;
  return random.chance(0.7) ? pick<std::size_t>(kCounts, random) : random.below(200);
}

Call pick_call(int ranks, Random& random) {
  Call call{.kind = pick<OperationKind>(kOperationKinds, random),
            .asynchronous = random.chance(0.3)};
  if (call.kind == OperationKind::kClose || !is_of_all(call.kind) || random.chance(0.2))
    call.kind = OperationKind::kAllReduce;
  if (!moves_elements(call.kind)) return call;
  call.count = pick_count(random);
  call.type = pick<DataType>(kDataTypes, random);
  call.in_place = random.chance(0.5);
  if (has_root(call.kind)) call.root = pick_rank(ranks, random);
  if (reduces(call.kind)) call.op = pick<ReduceOp>(kReduceOps, random);
  return call;
}

void pick_network(Scenario& scenario, Random& random) {
  struct Delays {
    microseconds min, max, loss;
  };
  static constexpr Delays kDelays[] = {
      {microseconds(5), microseconds(500), microseconds(1000)},
      {microseconds(10), microseconds(10), microseconds(0)},  // nothing overtakes for its delay
      {microseconds(1), microseconds(10000), microseconds(50)},
      {microseconds(1), microseconds(2000), microseconds(300000)}};
  const Delays delays = pick<Delays>(kDelays, random);
  scenario.min_delay = delays.min;
  scenario.max_delay = delays.max;
  scenario.loss_delay = delays.loss;
  static constexpr int kPercent[] = {0, 50, 50, 100};
  scenario.synchronous_percent = pick<int>(kPercent, random);
}

std::vector<int> pick_ranks(int ranks, int count, Random& random) {
  std::vector<int> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    std::swap(all[i], all[i + random.below(all.size() - i)]);
  }
  all.resize(static_cast<std::size_t>(count));
  std::ranges::sort(all);
  return all;
}

}  // namespace

Scenario generate(std::uint64_t seed, const GenerateOptions& options) {
  Random random(seed);
  Scenario scenario{.seed = random.next()};
  scenario.ranks = options.min_ranks + pick_rank(options.max_ranks - options.min_ranks + 1, random);
  static constexpr std::array<const char*, 5> kAlgorithms = {"", "ring", "recursive_doubling",
                                                             "gather_reduce", "direct"};
  scenario.algorithm = kAlgorithms[random.below(kAlgorithms.size())];
  static constexpr std::size_t kSegments[] = {64, 256, 4096};
  scenario.segment_bytes = pick<std::size_t>(kSegments, random);
  pick_network(scenario, random);
  const std::size_t calls = 1 + random.below(options.max_calls);
  for (std::size_t i = 0; i < calls; ++i) {
    scenario.calls.push_back(pick_call(scenario.ranks, random));
  }
  return scenario;
}

void enlarge(Scenario& scenario, std::size_t most) {
  std::vector<Call*> calls;
  for (Call& call : scenario.calls) calls.push_back(&call);
  for (Deviation& deviation : scenario.deviations) calls.push_back(&deviation.call);
  std::size_t largest = 1;
  for (const Call* call : calls) largest = std::max(largest, call->count);
  for (Call* call : calls) call->count *= std::max<std::size_t>(1, most / largest);
}

void place_faults(Scenario& scenario, std::uint64_t steps, Random& random) {
  Fault fault{.step = random.below(steps + 1)};
  if (random.chance(0.5)) {
    static constexpr std::array kKinds = {Fault::Kind::kCut, Fault::Kind::kCut, Fault::Kind::kStop,
                                          Fault::Kind::kSlow};
    fault.kind = kKinds[random.below(kKinds.size())];
    const int some = 1 + pick_rank(scenario.ranks - 1, random);
    fault.ranks = pick_ranks(scenario.ranks, some, random);
    const auto longest = static_cast<std::uint64_t>(scenario.timeout.count()) / 2;
    if (fault.kind != Fault::Kind::kCut || random.chance(0.5))
      fault.lasts = milliseconds(1 + random.below(longest));
    scenario.faults.push_back(fault);
    return;
  }
  const bool two = scenario.ranks > 2 && random.chance(0.4);
  const std::vector<int> lost = pick_ranks(scenario.ranks, two ? 2 : 1, random);
  // The second is lost while the survivors are busy with the first, or at any other time.
  const std::uint64_t soon = fault.step + random.below(20 * lost.size());
  const std::uint64_t second = random.chance(0.5) ? soon : random.below(steps + 1);
  for (const int rank : lost) {
    fault.ranks = {rank};
    scenario.faults.push_back(fault);
    fault.step = second;
  }
}

}  // namespace paceline::testing
