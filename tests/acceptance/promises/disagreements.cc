// Worlds of 2 to 8 ranks in which some ranks call something else than the others: another kind,
// count, type, op, root or order, a call too few, nothing where there should be something; in the
// last call, or followed by others on which all agree. Over the simulated network, over TCP and
// through shared memory, with and without a CPU for each rank, every rank learns of it, with a rank
// of either side in the error, and close() succeeds nowhere (tests/sim/judge.h). Every third world
// that is not simulated has messages of megabytes: sends of which a part has left, and receivers
// that have no room for more.
//
//   disagreements [--quick] [--count N] [--workers N] [--min-ranks 2..5]
//   disagreements --seed N [--min-ranks …] [--over simulation|tcp|shm|gathering]
//   disagreements --scenario '…' [--over …]      as a failure prints it
//
// A failure in the simulation is made shorter before it is printed.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "comm/base/clock.h"
#include "tests/harness/ranks.h"
#include "tests/sim/judge.h"
#include "tests/sim/program_words.h"
#include "tests/sim/rank_calls.h"
#include "tests/sim/scenario_text.h"
#include "tests/sim/shrink.h"
#include "tests/sim/simulated_run.h"
#include "tests/sim/workers.h"

namespace paceline::testing {
namespace {

// Other programs use the machine too.
constexpr Duration kSlack = std::chrono::seconds(2);

constexpr std::size_t kKinds = std::size(kDifferences);

struct Road {
  const char* name;
  Mode mode;
};
constexpr Road kRoads[] = {{"simulation", Mode::kSimulation},
                           {"tcp", Mode::kThreads},
                           {"shm", Mode::kDirectThreads},
                           {"gathering", Mode::kGatheringThreads}};
constexpr std::size_t kRoadCount = std::size(kRoads);

// Each road in its turn; each of them goes through all kinds.
const Road& road_of(std::uint64_t seed) { return kRoads[seed % kRoadCount]; }
Difference difference_of(std::uint64_t seed) { return kDifferences[seed / kRoadCount % kKinds]; }

const Road& road_of(const ProgramWords& options, std::uint64_t seed) {
  const auto* const named = std::ranges::find(kRoads, options.over, &Road::name);
  return named == std::end(kRoads) ? road_of(seed) : *named;
}

bool is_simulated(const Road& road) { return road.mode == Mode::kSimulation; }

// Each kind in its turn.
bool is_large(std::uint64_t seed) {
  return !is_simulated(road_of(seed)) && seed / kRoadCount % 3 == 0;
}

Scenario scenario_of(std::uint64_t seed, int min_ranks) {
  Random random(seed);
  const bool large = is_large(seed);
  const int max_ranks = large ? 5 : 8;
  Scenario scenario =
      generate(random.next(), {.min_ranks = min_ranks, .max_ranks = max_ranks, .max_calls = 4});
  place_disagreement(scenario, difference_of(seed), random);
  if (large) {
    enlarge(scenario, kMostCount >> random.below(3));
    static constexpr std::size_t kSegments[] = {64 << 10, 1 << 20, 16 << 20};
    scenario.segment_bytes = kSegments[random.below(std::size(kSegments))];
    scenario.timeout = std::chrono::seconds(20);
  }
  return scenario;
}

Outcome run_in_threads(const Scenario& scenario, const Road& road) {
  const SystemClock clock;
  Order order{0};
  Outcome outcome{.slack = kSlack};
  outcome.ranks.resize(static_cast<std::size_t>(scenario.ranks));
  outcome.hosts.resize(outcome.ranks.size());
  const RunOptions options{.mode = road.mode,
                           .ranks = scenario.ranks,
                           .algorithm = scenario.algorithm,
                           .segment_bytes = scenario.segment_bytes,
                           .timeout = scenario.timeout};
  outcome.simulated = run_ranks(options, [&](Communicator& world) -> Status {
    Communicator own = std::move(world);
    RankOutcome& rank = outcome.ranks[static_cast<std::size_t>(own.rank())];
    outcome.hosts[static_cast<std::size_t>(own.rank())] = own.group().self().host;
    rank.calls = make_calls(own, calls_of(scenario, own.rank()), clock, order);
    const TimePoint begin = clock.now();
    { const Communicator leaving = std::move(own); }
    rank.leaving = clock.now() - begin;
    return {};
  });
  return outcome;
}

Outcome outcome_of(const Scenario& scenario, const Road& road, RankThreads& threads) {
  return is_simulated(road) ? run_simulated(scenario, threads) : run_in_threads(scenario, road);
}

// How many calls after the deviation the slowest rank learnt of it; close() is the last.
std::size_t delay_of(const Scenario& scenario, const Outcome& outcome) {
  std::size_t delay = 0;
  const std::size_t first = scenario.deviations.front().index;
  for (const RankOutcome& rank : outcome.ranks) {
    std::size_t learnt = first;
    while (learnt < rank.calls.size() && rank.calls[learnt].status.ok()) ++learnt;
    delay = std::max(delay, learnt - first);
  }
  return delay;
}

// Places among the counters: the kinds over each road, then these.
enum Count : std::size_t { kAtOnce = kRoadCount * kKinds, kAtNext, kLater };

std::size_t place_of(std::size_t kind, const Road& road) {
  return static_cast<std::size_t>(&road - kRoads) * kKinds + kind;
}

void count(std::uint64_t seed, const Road& road, std::size_t delay, Counters& counters) {
  ++counters[place_of(seed / kRoadCount % kKinds, road)];
  ++counters[delay == 0 ? kAtOnce : delay == 1 ? kAtNext : kLater];
}

std::string replay(const ProgramWords& options, const Scenario& scenario, const Road& road) {
  return options.program + " --over " + road.name + " --scenario '" + to_text(scenario) + "'";
}

void report(const ProgramWords& options, const Scenario& scenario, const Road& road,
            const std::string& wrong, RankThreads& threads) {
  std::string text = "WRONG: " + wrong + "\n  replay:  " + replay(options, scenario, road) + "\n";
  if (is_simulated(road)) {
    const auto judged = [&](const Scenario& each) {
      // Without a deviation there is nothing to disagree on.
      return each.deviations.empty() ? ""
                                     : judge_disagreement(each, outcome_of(each, road, threads));
    };
    const Scenario shorter =
        shrink(scenario, [&](const Scenario& each) { return !judged(each).empty(); }, {});
    text +=
        "  shorter: " + judged(shorter) + "\n  replay:  " + replay(options, shorter, road) + "\n";
  }
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool try_seed(const ProgramWords& options, std::uint64_t seed, RankThreads& threads,
              Counters& counters) {
  const Scenario scenario = scenario_of(seed, options.min_ranks);
  const Road& road = road_of(options, seed);
  const Outcome outcome = outcome_of(scenario, road, threads);
  count(seed, road, delay_of(scenario, outcome), counters);
  const std::string wrong = judge_disagreement(scenario, outcome);
  if (!wrong.empty()) report(options, scenario, road, wrong, threads);
  return wrong.empty();
}

int replay_one(const Scenario& scenario, const Road& road) {
  if (scenario.deviations.empty()) {
    std::printf("nobody deviates in this scenario\n");
    return 2;
  }
  RankThreads threads;
  const Outcome outcome = outcome_of(scenario, road, threads);
  std::printf("%s, over %s\n", to_text(scenario).c_str(), road.name);
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    for (const CallOutcome& call : outcome.ranks[rank].calls) {
      std::printf("rank %zu: %s\n", rank, call.status.to_string().c_str());
    }
  }
  const std::string wrong = judge_disagreement(scenario, outcome);
  std::printf("%s\n", wrong.empty() ? "as promised" : ("WRONG: " + wrong).c_str());
  return wrong.empty() ? 0 : 1;
}

int run(const ProgramWords& options) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  Counters counters{};
  RankThreads threads;  // started by the simulations, so each worker has its own
  const auto item = [&](std::uint64_t number, Counters& into) {
    return try_seed(options, number, threads, into);
  };
  const bool good =
      run_workers({.workers = options.workers, .items = options.count}, counters, item);
  std::printf("%-12s", "difference");
  for (const Road& road : kRoads) std::printf(" %10s", road.name);
  std::printf("\n");
  std::uint64_t all = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    std::printf("%-12s", name(kDifferences[kind]));
    for (const Road& road : kRoads) {
      const std::uint64_t tried = counters[place_of(kind, road)];
      all += tried;
      std::printf(" %10llu", static_cast<unsigned long long>(tried));
    }
    std::printf("\n");
  }
  const auto of = [&](Count which) { return static_cast<unsigned long long>(counters[which]); };
  std::printf("known to the last rank in the call itself %llu, in the next %llu, later %llu\n",
              of(kAtOnce), of(kAtNext), of(kLater));
  std::printf("%llu disagreements over %zu roads, %.1f s: %s\n",
              static_cast<unsigned long long>(all), kRoadCount,
              std::chrono::duration<double>(clock.now() - begin).count(),
              good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  ProgramForm form{.defaults = {.program = "disagreements", .count = 500},
                   .quick_count = 96,
                   .takes_scenario = true,
                   .takes_min_ranks = true,
                   .roads = {}};
  for (const Road& road : kRoads) form.roads.emplace_back(road.name);
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  if (words->scenario) return replay_one(*words->scenario, road_of(*words, 0));
  if (words->seed)
    return replay_one(scenario_of(*words->seed, words->min_ranks), road_of(*words, *words->seed));
  return run(*words);
}
