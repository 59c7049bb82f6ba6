// Thousands of worlds of 2 to 16 ranks in simulated time, each in an order that its seed decides:
// first undisturbed, then with one or two lost ranks or a partition at any step of the same
// schedule. Undisturbed, and where a partition heals in time, every result is right; otherwise
// every operation of every survivor is right or ends soon with a right name (tests/sim/judge.h);
// where ranks are lost that is before its deadline, since the others are told.
//
//   simulated_schedules [--quick] [--count N] [--workers N]
//   simulated_schedules --seed N           both worlds of a seed
//   simulated_schedules --scenario '…'     one world, as a failure prints it
//
// A failure is made shorter before it is printed.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "tests/harness/sanitized.h"
#include "tests/sim/judge.h"
#include "tests/sim/program_words.h"
#include "tests/sim/scenario_text.h"
#include "tests/sim/shrink.h"
#include "tests/sim/simulated_run.h"
#include "tests/sim/workers.h"

namespace paceline::testing {
namespace {

// Places among the counters.
enum Count : std::size_t {
  kUndisturbed,
  kOneLost,
  kTwoLost,
  kHealed,
  kParted,
  kStopped,
  kSlowed,
  kOperations,
  kFailed,
  kSteps
};

Count kind_of(const Scenario& scenario) {
  if (scenario.faults.empty()) return kUndisturbed;
  const Fault& fault = scenario.faults.front();
  if (fault.kind == Fault::Kind::kStop) return kStopped;
  if (fault.kind == Fault::Kind::kSlow) return kSlowed;
  if (fault.kind == Fault::Kind::kCut) return fault.lasts.count() > 0 ? kHealed : kParted;
  return scenario.faults.size() == 1 ? kOneLost : kTwoLost;
}

void count(const Scenario& scenario, const Outcome& outcome, Counters& counters) {
  ++counters[kind_of(scenario)];
  counters[kSteps] += outcome.steps;
  for (const RankOutcome& rank : outcome.ranks) {
    for (const CallOutcome& call : rank.calls) {
      ++counters[kOperations];
      counters[kFailed] += !call.status.ok();
    }
  }
}

std::string replay(const ProgramWords& options, const Scenario& scenario) {
  return options.program + " --scenario '" + to_text(scenario) + "'";
}

void report(const ProgramWords& options, const Scenario& scenario, const std::string& wrong,
            RankThreads& threads) {
  const auto judged = [&](const Scenario& shorter) {
    return judge_schedule(shorter, run_simulated(shorter, threads));
  };
  const Scenario shorter =
      shrink(scenario, [&](const Scenario& each) { return !judged(each).empty(); }, {});
  const std::string text = "WRONG: " + wrong + "\n  replay:  " + replay(options, scenario) +
                           "\n  shorter: " + judged(shorter) +
                           "\n  replay:  " + replay(options, shorter) + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

bool holds(const ProgramWords& options, const Scenario& scenario, RankThreads& threads,
           Counters& counters, std::uint64_t* steps = nullptr) {
  const Outcome outcome = run_simulated(scenario, threads);
  count(scenario, outcome, counters);
  if (steps != nullptr) *steps = outcome.steps;
  const std::string wrong = judge_schedule(scenario, outcome);
  if (!wrong.empty()) report(options, scenario, wrong, threads);
  return wrong.empty();
}

bool try_seed(const ProgramWords& options, std::uint64_t seed, RankThreads& threads,
              Counters& counters) {
  Scenario scenario = generate(seed, {});
  std::uint64_t steps = 0;
  if (!holds(options, scenario, threads, counters, &steps)) return false;
  Random random(seed ^ scenario.seed);
  place_faults(scenario, steps, random);
  return holds(options, scenario, threads, counters);
}

void print_outcome(const Scenario& scenario, const Outcome& outcome) {
  std::printf("%s\n%llu steps\n", to_text(scenario).c_str(),
              static_cast<unsigned long long>(outcome.steps));
  for (std::size_t rank = 0; rank < outcome.ranks.size(); ++rank) {
    for (const CallOutcome& call : outcome.ranks[rank].calls) {
      const std::string end = call.wrong.empty() ? call.status.to_string() : "WRONG: " + call.wrong;
      std::printf("rank %zu %11.3f … %11.3f ms: %s\n", rank,
                  static_cast<double>(call.began_at.time_since_epoch().count()) / 1e6,
                  static_cast<double>(call.ended_at.time_since_epoch().count()) / 1e6, end.c_str());
    }
  }
}

int replay_one(const Scenario& scenario) {
  RankThreads threads;
  const Outcome outcome = run_simulated(scenario, threads);
  print_outcome(scenario, outcome);
  const std::string wrong = judge_schedule(scenario, outcome);
  std::printf("%s\n", wrong.empty() ? "as promised" : ("WRONG: " + wrong).c_str());
  return wrong.empty() ? 0 : 1;
}

int replay_seed(const ProgramWords& options, std::uint64_t seed) {
  RankThreads threads;
  Counters counters{};
  const bool good = try_seed(options, seed, threads, counters);
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed),
              good ? "as promised" : "WRONG");
  return good ? 0 : 1;
}

int run(const ProgramWords& options) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  Counters counters{};
  RankThreads threads;  // started by the simulations, so each worker has its own
  const auto item = [&](std::uint64_t number, Counters& into) {
    return try_seed(options, number + 1, threads, into);
  };
  const bool good =
      run_workers({.workers = options.workers, .items = options.count}, counters, item);
  const auto of = [&](Count which) { return static_cast<unsigned long long>(counters[which]); };
  std::printf(
      "undisturbed %llu, one rank lost %llu, two lost %llu, partition healed %llu, "
      "never healed %llu, ranks stopped %llu, slow %llu\n",
      of(kUndisturbed), of(kOneLost), of(kTwoLost), of(kHealed), of(kParted), of(kStopped),
      of(kSlowed));
  const unsigned long long disturbed =
      of(kOneLost) + of(kTwoLost) + of(kHealed) + of(kParted) + of(kStopped) + of(kSlowed);
  const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
  std::printf(
      "%llu undisturbed and %llu disturbed schedules of seeds 1 to %llu, %llu operations of "
      "which %llu ended in an error, %llu steps, %.1f s: %s\n",
      of(kUndisturbed), disturbed, static_cast<unsigned long long>(options.count), of(kOperations),
      of(kFailed), of(kSteps), seconds, good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const ProgramForm form{.defaults = {.program = "simulated_schedules", .count = 10'000},
                         .quick_count = samples(500),
                         .takes_scenario = true};
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  if (words->scenario) return replay_one(*words->scenario);
  if (words->seed) return replay_seed(*words, *words->seed);
  return run(*words);
}
