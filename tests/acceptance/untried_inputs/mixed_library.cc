// Worlds of 1 to 6 ranks, as processes and as threads of one, that do everything at once: all
// operations, types and reductions, blocking and in the background, in groups and as messages, in
// ordinary memory and in buffers, on several communicators in several threads, in C++ and C, with
// splits in the middle, while timers interrupt system calls and threads fork. Some worlds run under
// `paceline run`. In every second world a rank ends somewhere: killed, by _exit() or exit(), or it
// aborts or destroys a communicator. Every result is right; every rank of a communicator that has
// lost one gets an error that names it, and the same error from then on; everything else goes on.
//
//   mixed_library [--quick] [--count WORLDS] [--workers N]
//   mixed_library --seed N       the world of this seed alone
//
// Some worlds are simulated: these take the same steps in every run. Others make the same calls,
// forks and endings in every run, and the system decides when threads run. PACELINE_EXTRA_SEED adds
// a world.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "tests/harness/ranks.h"
#include "tests/mixed/act.h"
#include "tests/mixed/lane.h"
#include "tests/mixed/world_run.h"
#include "tests/sim/program_words.h"
#include "tests/sim/workers.h"

namespace paceline::testing::mixed {
namespace {

constexpr std::uint64_t kActs = 300;
constexpr std::uint64_t kSimulatedActs = 60;
constexpr int kSimulatedRanks = 4;

// Places among the counters.
enum Count : std::size_t { kOperations, kSimulated, kEndings, kLongestMs };

std::string text_of(std::uint64_t number) { return std::to_string(number); }

bool report(const std::string& program, std::uint64_t seed, const std::string& wrong) {
  const std::string text =
      "WRONG: " + wrong + "  replay: " + program + " --seed " + text_of(seed) + "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return false;
}

bool try_world(const std::string& program, std::uint64_t seed, Counters& counters) {
  const WorldScript script = draw_world(seed, kActs);
  const WorldOutcome outcome = run_world(script);
  counters[kOperations] += outcome.operations / static_cast<std::uint64_t>(script.ranks);
  counters[kEndings] += script.ending.kind == Ending::Kind::kNone ? 0 : 1;
  const auto longest_ms = static_cast<std::uint64_t>(outcome.longest_ms);
  counters[kLongestMs] = std::max<std::uint64_t>(counters[kLongestMs], longest_ms);
  if (outcome.wrong.empty()) return true;
  return report(program, seed, to_text(script) + "\n" + outcome.wrong);
}

// Takes the same steps in every run.
bool simulate(const std::string& program, std::uint64_t seed, Counters& counters) {
  const Status status = run_ranks(
      {.mode = Mode::kSimulation, .ranks = kSimulatedRanks, .seed = seed},
      [&](Communicator& world) {
        Port port(&world);
        std::uint64_t operations = 0;
        const Status ended = run_lane(port, {.seed = seed, .acts = kSimulatedActs}, operations);
        if (world.rank() == 0) counters[kSimulated] += operations;
        return ended;
      });
  return status.ok() || report(program, seed, "simulated: " + status.to_string() + "\n");
}

int run(const ProgramWords& words) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const std::vector<std::uint64_t> seeds = seeds_of(words);
  const WorkerOptions workers{.workers = words.workers, .items = seeds.size()};
  Counters counters{};
  // Worlds first: a process that has used buffers has no children that can.
  bool good = run_workers(workers, counters, [&](std::uint64_t item, Counters& into) {
    return try_world(words.program, seeds[item], into);
  });
  good = run_workers(workers, counters,
                     [&](std::uint64_t item, Counters& into) {
                       return simulate(words.program, seeds[item], into);
                     }) &&
         good;
  const auto of = [&](Count which) { return static_cast<unsigned long long>(counters[which]); };
  std::printf(
      "%llu operations of each rank in %llu worlds, and %llu simulated; %llu endings, known to all "
      "after %llu ms at most; %.1f s: %s\n",
      of(kOperations), static_cast<unsigned long long>(seeds.size()), of(kSimulated), of(kEndings),
      of(kLongestMs), std::chrono::duration<double>(clock.now() - begin).count(),
      good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing::mixed

int main(int argc, char** argv) {
  using namespace paceline::testing;
  if (argc == 5 && std::string_view(argv[1]) == mixed::kRankWord) {
    const auto number = [&](int place) {
      return paceline::parse_number<std::uint64_t>(argv[place]).value_or(0);
    };
    mixed::run_launched_rank(mixed::draw_world(number(2), number(3)), argv[4]);
  }
  const ProgramForm form{.defaults = {.program = "mixed_library", .count = 2200, .workers = 1},
                         .quick_count = 12};
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  return mixed::run(*words);
}
