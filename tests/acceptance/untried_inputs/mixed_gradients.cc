// Random steps of gradient pipelines of 1 to 5 ranks: parameters of all types in turn, with several
// uses, unused or frozen; every codec, forced or not; buckets of all sizes; micro-steps; overflows;
// ranks whose data end; loss scales that change; states that are loaded again; states of another
// number of ranks; wrong calls; ranks that abort or destroy their pipeline, which all others are
// told. Every result is the sum or the average of the gradients that ranks have handed in: exactly,
// or but for the errors that a codec keeps, which are bounded, and delivered at the end. Half of
// the trials are simulated; the others run in threads over TCP or shared memory.
//
//   mixed_gradients [--quick] [--count TRIALS] [--workers N]
//   mixed_gradients --seed N       the trial of this seed alone
//
// The same seed makes the same steps; simulated ones also take the same schedule.
// PACELINE_EXTRA_SEED adds a trial.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/gradient_script.h"
#include "tests/harness/gradient_trial.h"
#include "tests/harness/ranks.h"
#include "tests/sim/program_words.h"
#include "tests/sim/workers.h"

namespace paceline::testing {
namespace {

constexpr std::uint64_t kSteps = 60;
constexpr Mode kThreadModes[] = {Mode::kThreads, Mode::kSharedMemoryThreads, Mode::kDirectThreads,
                                 Mode::kGatheringThreads};
constexpr Determinism kDeterminisms[] = {Determinism::kFast, Determinism::kRunStable,
                                         Determinism::kPlacementStable};

// Places among the counters.
enum Count : std::size_t { kSimulated, kInThreads, kEndings };

RunOptions options_of(std::uint64_t seed) {
  Random random(seed);
  RunOptions options{.ranks = static_cast<int>(1 + random.below(5)), .seed = seed};
  // A rank alone has no shared memory.
  if (seed % 2 == 0 && options.ranks == 1) options.mode = Mode::kThreads;
  if (seed % 2 == 0 && options.ranks > 1)
    options.mode = kThreadModes[random.below(std::size(kThreadModes))];
  options.determinism = kDeterminisms[random.below(std::size(kDeterminisms))];
  return options;
}

Status make_other_state(RunOptions options, GradientTrial& trial) {
  options.mode = Mode::kSimulation;
  options.ranks = 1;
  return run_ranks(options, [&trial](Communicator& own) -> Status {
    PACELINE_TRY_ASSIGN(trial.other_state, state_of_one(std::move(own), trial));
    return {};
  });
}

bool try_seed(const std::string& program, std::uint64_t seed, Counters& counters) {
  const RunOptions options = options_of(seed);
  GradientTrial trial{.seed = seed, .steps = kSteps, .largest = 600, .is_mixed = true};
  Status status;
  if (options.ranks > 1) status = make_other_state(options, trial);
  if (status.ok())
    status = run_ranks(
        options, [&](Communicator& world) { return run_gradient_trial(std::move(world), trial); });
  const auto ending = GradientScript(trial, options.ranks).ending();
  counters[options.mode == Mode::kSimulation ? kSimulated : kInThreads] +=
      ending ? ending->step : kSteps;
  counters[kEndings] += ending ? 1 : 0;
  if (status.ok()) return true;
  const std::string text = "WRONG: " + std::to_string(options.ranks) + " ranks, " +
                           name(options.mode) + ": " + status.to_string() +
                           "\n  replay: " + program + " --seed " + std::to_string(seed) + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return false;
}

int run(const ProgramWords& words) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const std::vector<std::uint64_t> seeds = seeds_of(words);
  Counters counters{};
  const bool good = run_workers({.workers = words.workers, .items = seeds.size()}, counters,
                                [&](std::uint64_t item, Counters& into) {
                                  return try_seed(words.program, seeds[item], into);
                                });
  const auto of = [&](Count which) { return static_cast<unsigned long long>(counters[which]); };
  std::printf(
      "%llu simulated steps and %llu in threads, in %zu trials, %llu of which a rank left; "
      "%.1f s: %s\n",
      of(kSimulated), of(kInThreads), seeds.size(), of(kEndings),
      std::chrono::duration<double>(clock.now() - begin).count(),
      good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const ProgramForm form{.defaults = {.program = "mixed_gradients", .count = 1900},
                         .quick_count = 16};
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  return run(*words);
}
