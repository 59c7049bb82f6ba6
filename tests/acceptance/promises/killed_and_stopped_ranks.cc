// Worlds of 2 to 6 processes that talk over TCP; at a random moment one or two ranks are killed
// (SIGKILL) or stopped (SIGSTOP). Every survivor's running operation ends in bounded time with the
// name of a rank that was struck, every later call and close() with the same error, and what had
// ended well before was right.
//
//   killed_and_stopped_ranks [--quick] [--count N] [--workers N]
//   killed_and_stopped_ranks --seed N     one world
//
// Worlds run side by side: one with a stopped rank does nothing until its deadline.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <signal.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "tests/sim/process_world.h"
#include "tests/sim/rank_calls.h"
#include "tests/sim/scenario_text.h"
#include "tests/sim/workers.h"

namespace paceline::testing {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kTimeout{3000};
// On top of the deadline, since other programs use the machine too.
constexpr milliseconds kGrace{3000};

struct Options {
  std::string program = "killed_and_stopped_ranks";
  std::uint64_t count = 200;
  int workers = 4;
  std::optional<std::uint64_t> seed;
};

struct Strike {
  Scenario scenario;
  bool kill = true;  // or stop
  std::vector<int> victims;
  std::vector<Duration> moments;  // since the world began, then since the strike before
};

Strike strike_of(std::uint64_t seed) {
  Random random(seed);
  Strike strike{.scenario = generate(random.next(), {.max_ranks = 6}), .kill = seed % 2 == 0};
  strike.scenario.timeout = kTimeout;
  // Some calls are long enough to be struck in the middle of a message.
  for (Call& call : strike.scenario.calls) {
    if (call.kind != OperationKind::kBarrier && random.chance(0.3)) call.count = 200'003;
  }
  strike.scenario.segment_bytes *= 16;
  const auto ranks = static_cast<std::uint64_t>(strike.scenario.ranks);
  strike.victims = {static_cast<int>(random.below(ranks))};
  // Early: while connections are made. Late: in the middle of the calls.
  const Duration longest = random.chance(0.3) ? milliseconds(30) : milliseconds(300);
  strike.moments = {Duration(random.below(static_cast<std::uint64_t>(longest.count())))};
  if (ranks > 2 && random.chance(0.25)) {
    const auto other = 1 + random.below(ranks - 1);
    strike.victims.push_back(
        static_cast<int>((static_cast<std::uint64_t>(strike.victims.front()) + other) % ranks));
    strike.moments.push_back(microseconds(random.below(20'000)));
  }
  return strike;
}

// ---- in the rank ----

// Calls again and again until one fails: "code culprit milliseconds right sticky words…".
std::string report_of(Communicator& world, const std::vector<Call>& calls) {
  const SystemClock clock;
  for (std::size_t i = 0;; ++i) {
    const CallOutcome outcome = make_call(world, calls[i % calls.size()], i, clock);
    if (outcome.status.ok() && outcome.wrong.empty()) continue;
    const std::string error = outcome.status.to_string();
    const bool sticky = world.barrier().to_string() == error && world.close().to_string() == error;
    std::ostringstream line;
    line << static_cast<int>(outcome.status.code()) << ' ' << outcome.status.culprit().rank << ' '
         << (outcome.ended_at - outcome.began_at) / milliseconds(1) << ' ' << outcome.wrong.empty()
         << ' ' << sticky << ' ' << (outcome.status.ok() ? outcome.wrong : error);
    return line.str();
  }
}

// ---- in the judge ----

struct Report {
  int code = 0;
  int culprit = -1;
  std::int64_t took_ms = 0;
  bool right = false;
  bool sticky = false;
};

std::optional<Report> parse_report(const std::string& text) {
  std::istringstream words(text);
  Report report;
  words >> report.code >> report.culprit >> report.took_ms >> report.right >> report.sticky;
  return words ? std::optional(report) : std::nullopt;
}

std::string judge_report(const Report& report, const Strike& strike) {
  const auto is = [&](Code code) { return report.code == static_cast<int>(code); };
  if (!report.right) return "has a wrong result";
  if (!report.sticky) return "forgot its error";
  if (!is(Code::kPeerLost) && !is(Code::kTimeout)) return "has a wrong code";
  if (std::ranges::count(strike.victims, report.culprit) == 0) return "has a wrong name";
  return report.took_ms <= (kTimeout + kGrace).count() ? "" : "ended late";
}

std::string words_of(const Strike& strike) {
  std::string words = strike.kill ? "SIGKILL" : "SIGSTOP";
  for (std::size_t i = 0; i < strike.victims.size(); ++i) {
    words += (i == 0 ? " to rank " : " and to rank ") + std::to_string(strike.victims[i]) +
             " after " + std::to_string(strike.moments[i] / microseconds(1)) + " us";
  }
  return words + " in " + to_text(strike.scenario);
}

// Places among the counters.
enum Count : std::size_t {
  kKilled,
  kStopped,
  kTwo,
  kSurvivors,
  kOperation,  // longest, in ms
  kOperationOfStopped,
  kEnd,  // longest, in ms
  kEndOfStopped
};

void note_longest(std::atomic<std::uint64_t>& longest, std::int64_t took_ms) {
  const auto took = static_cast<std::uint64_t>(took_ms);
  std::uint64_t before = longest;
  while (took > before && !longest.compare_exchange_weak(before, took)) {
  }
}

std::string judge_world(const ProcessWorld& world, const Strike& strike, Counters& counters) {
  std::string wrong;
  for (int rank = 0; rank < strike.scenario.ranks; ++rank) {
    if (std::ranges::count(strike.victims, rank) > 0) continue;
    ++counters[kSurvivors];
    const auto report = parse_report(world.report(rank));
    std::string said = report ? judge_report(*report, strike) : "ended without a report";
    if (!world.has_ended(rank)) said = "is still running";
    const Count place = strike.kill ? kOperation : kOperationOfStopped;
    if (report) note_longest(counters[place], report->took_ms);
    if (said.empty()) continue;
    wrong += "  rank " + std::to_string(rank) + " " + said + ": " + world.report(rank) + "\n";
  }
  return wrong;
}

bool any_has_ended(const ProcessWorld& world, int ranks) {
  for (int rank = 0; rank < ranks; ++rank) {
    if (world.has_ended(rank)) return true;
  }
  return false;
}

std::string run_strike(const Strike& strike, Counters& counters) {
  const SystemClock clock;
  const std::vector<Call>& calls = strike.scenario.calls;
  ProcessWorld world(strike.scenario, [&](Communicator& own) { return report_of(own, calls); });
  for (std::size_t i = 0; i < strike.victims.size(); ++i) {
    (void)world.collect(clock.now() + strike.moments[i]);
    if (i == 0 && any_has_ended(world, strike.scenario.ranks)) {
      return "  a rank ended before anything befell it\n";
    }
    world.strike(strike.victims[i], strike.kill ? SIGKILL : SIGSTOP);
  }
  const TimePoint struck = clock.now();
  (void)world.collect(struck + kTimeout + 2 * kGrace);
  note_longest(counters[strike.kill ? kEnd : kEndOfStopped],
               (clock.now() - struck) / milliseconds(1));
  ++counters[strike.kill ? kKilled : kStopped];
  counters[kTwo] += strike.victims.size() == 2;
  return judge_world(world, strike, counters);
}

bool try_seed(const Options& options, std::uint64_t seed, Counters& counters) {
  const Strike strike = strike_of(seed);
  const std::string wrong = run_strike(strike, counters);
  if (wrong.empty()) return true;
  const std::string text = "WRONG: " + words_of(strike) + "\n" + wrong +
                           "  replay: " + options.program + " --seed " + std::to_string(seed) +
                           "\n";
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
  return false;
}

int run(const Options& options) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  Counters counters{};
  const auto item = [&](std::uint64_t number, Counters& into) {
    return try_seed(options, options.seed.value_or(number + 1), into);
  };
  const bool good = run_workers(
      {.workers = options.seed ? 1 : options.workers, .items = options.seed ? 1 : options.count},
      counters, item);
  const auto of = [&](Count which) { return static_cast<unsigned long long>(counters[which]); };
  std::printf(
      "longest operation: %llu ms with a killed rank, %llu ms with a stopped one (deadline "
      "%lld ms); until the last survivor had left: %llu ms, %llu ms\n",
      of(kOperation), of(kOperationOfStopped), static_cast<long long>(kTimeout.count()), of(kEnd),
      of(kEndOfStopped));
  std::printf(
      "%llu worlds with killed ranks, %llu with stopped ranks (%llu with two), %llu "
      "survivors, %.1f s: %s\n",
      of(kKilled), of(kStopped), of(kTwo), of(kSurvivors),
      std::chrono::duration<double>(clock.now() - begin).count(),
      good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

int usage(const std::string& why) {
  std::fprintf(stderr,
               "%s\nusage: killed_and_stopped_ranks [--quick] [--count N] [--workers N] "
               "[--seed N]\n",
               why.c_str());
  return 2;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  Options options;
  options.program = argv[0];
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_value = i + 1 < words.size();
    const auto number = [&] { return std::strtoull(words[++i].c_str(), nullptr, 10); };
    if (words[i] == "--quick") {
      options.count = 16;
    } else if (words[i] == "--count" && has_value) {
      options.count = number();
    } else if (words[i] == "--workers" && has_value) {
      options.workers = static_cast<int>(number());
    } else if (words[i] == "--seed" && has_value) {
      options.seed = number();
    } else {
      return usage("unknown or incomplete: " + words[i]);
    }
  }
  return run(options);
}
