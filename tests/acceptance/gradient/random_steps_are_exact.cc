// Steps of 4 ranks with random ready orders, unused parameters, uneven data, micro-steps, frozen
// parameters and overflows: each ends, nobody disagrees, every sum is exact.
//
//   random_steps_are_exact [--quick] [--seed N]
//
// 10,000 steps in simulated worlds of many seeds, then 1,000 in threads over TCP and as many
// through shared memory. Built for the thread sanitizer it takes those in threads only: simulated
// ranks run one at a time.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "comm/base/text.h"
#include "tests/harness/gradient_trial.h"
#include "tests/harness/ranks.h"
#include "tests/harness/sanitized.h"

namespace paceline::testing {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr bool kSimulates = false;
#else
constexpr bool kSimulates = true;
#endif

constexpr int kRanks = 4;
constexpr std::uint64_t kStepsOfTrial = 50;

// How many steps were taken; 0 after one that was wrong.
std::uint64_t run(Mode mode, std::uint64_t steps, std::uint64_t seed) {
  for (std::uint64_t done = 0; done < steps; done += kStepsOfTrial, ++seed) {
    const GradientTrial trial{.seed = seed, .steps = kStepsOfTrial};
    const Status status =
        run_ranks({.mode = mode, .ranks = kRanks, .seed = seed},
                  [&](Communicator& world) { return run_gradient_trial(std::move(world), trial); });
    if (status.ok()) continue;
    std::printf("%s, seed %llu: %s\n", name(mode).c_str(), static_cast<unsigned long long>(seed),
                status.to_string().c_str());
    return 0;
  }
  return steps;
}

int run_all(bool is_quick, std::uint64_t seed) {
  std::uint64_t simulated = 0, in_threads = 0;
  if (kSimulates) {
    simulated = run(Mode::kSimulation, is_quick ? samples(1000) : 10'000, seed);
    if (simulated == 0) return 1;
  }
  for (const Mode mode : {Mode::kThreads, Mode::kDirectThreads}) {
    const std::uint64_t steps = run(mode, is_quick ? 200 : 1000, seed);
    if (steps == 0) return 1;
    in_threads += steps;
  }
  std::printf("%llu simulated steps and %llu in threads of %d ranks ended with exact sums\n",
              static_cast<unsigned long long>(simulated),
              static_cast<unsigned long long>(in_threads), kRanks);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  bool is_quick = false;
  std::uint64_t seed = 1;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      is_quick = true;
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = paceline::parse_number<std::uint64_t>(words[++i]).value_or(1);
    } else {
      std::fputs("usage: random_steps_are_exact [--quick] [--seed N]\n", stderr);
      return 2;
    }
  }
  return paceline::testing::run_all(is_quick, seed);
}
