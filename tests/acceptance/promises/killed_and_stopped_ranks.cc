// Worlds of 2 to 6 processes that talk over TCP, every third through shared memory; at a random
// moment one or two ranks are killed (SIGKILL) or stopped (SIGSTOP). Every survivor's operations,
// those that run in the background too, end in bounded time with the rank that was struck, its host
// and the operation; every later call and close() with the same error; and what had ended well
// before was right. In some worlds the messages are of megabytes, in some a survivor computes
// between its calls.
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

#include <poll.h>
#include <signal.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "tests/sim/process_world.h"
#include "tests/sim/program_words.h"
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
// How long a rank that computes does so between two rounds of calls.
constexpr milliseconds kComputing{500};
constexpr const char* kHost = "local";  // as tests/harness/tcp_world.h calls it

struct Strike {
  Scenario scenario;
  ProcessWorld::Over over = ProcessWorld::Over::kTcp;
  bool kill = true;  // or stop
  std::vector<int> victims;
  std::vector<Duration> moments;  // since the world began, then since the strike before
  int computing = -1;             // the survivor that does; -1: none
};

Duration below(Duration longest, Random& random) {
  return Duration(random.below(static_cast<std::uint64_t>(longest.count())));
}

void lengthen(Scenario& scenario, Random& random) {
  const auto rank = static_cast<int>(random.below(static_cast<std::uint64_t>(scenario.ranks)));
  scenario.calls.push_back({.kind = OperationKind::kBroadcast,
                            .count = kMostCount >> random.below(3),
                            .type = DataType::kFloat64,
                            .root = rank,
                            .asynchronous = random.chance(0.3)});
  scenario.segment_bytes = std::size_t{64 << 10} << (4 * random.below(3));
}

// One that is not struck; it and the others meet once in a round, or they would leave it behind.
void let_compute(Strike& strike) {
  int rank = 0;
  while (std::ranges::count(strike.victims, rank) > 0) ++rank;
  if (rank == strike.scenario.ranks) return;
  strike.computing = rank;
  strike.scenario.calls.push_back({});
}

Strike strike_of(std::uint64_t seed) {
  Random random(seed);
  Strike strike{.scenario = generate(random.next(), {.max_ranks = 6}), .kill = seed % 2 == 0};
  if (seed % 3 == 0) strike.over = ProcessWorld::Over::kSharedMemory;
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
  strike.moments = {below(longest, random)};
  if (ranks > 2 && random.chance(0.25)) {
    const auto other = 1 + random.below(ranks - 1);
    strike.victims.push_back(
        static_cast<int>((static_cast<std::uint64_t>(strike.victims.front()) + other) % ranks));
    strike.moments.push_back(below(milliseconds(20), random));
  }
  const bool large = random.chance(0.2);
  const bool computes = random.chance(0.2);
  if (large) lengthen(strike.scenario, random);
  if (computes) let_compute(strike);
  if (large || computes) strike.moments.front() = below(3 * kComputing, random);
  return strike;
}

// ---- in the rank ----

// What a rank has seen of the round in which its calls began to fail.
struct Report {
  int code = 0;
  int culprit = -1;
  std::string host;
  std::int64_t sequence = -1;
  std::string operation;
  std::int64_t waited_ms = 0;   // for the first call that failed
  std::int64_t overdue_ms = 0;  // the most that any call came after its deadline
  bool right = true;            // no result of a success is wrong
  bool sticky = true;           // every later call has the same error
  std::string words;
};

bool is_over(const CallOutcome& call) { return !call.status.ok() || !call.wrong.empty(); }

void look_at(const CallOutcome& call, Report& report) {
  const TimePoint due = std::max(call.began_at + kTimeout, call.asked_at);
  report.overdue_ms = std::max(report.overdue_ms, (call.ended_at - due) / milliseconds(1));
  report.right = report.right && call.wrong.empty();
}

Report report_of(const std::vector<CallOutcome>& round, Communicator& world) {
  const auto first = std::ranges::find_if(round, is_over);
  const std::string error = first->status.to_string();
  const Culprit& who = first->status.culprit();
  Report report{.code = static_cast<int>(first->status.code()),
                .culprit = who.rank,
                .host = who.host,
                .sequence = who.sequence,
                .operation = who.operation,
                .waited_ms = (first->ended_at - first->asked_at) / milliseconds(1),
                .words = first->status.ok() ? first->wrong : error};
  for (const CallOutcome& call : round) look_at(call, report);
  report.sticky = std::all_of(first, round.end(), [&](const CallOutcome& call) {
    return call.status.to_string() == error;
  });
  report.sticky =
      report.sticky && world.barrier().to_string() == error && world.close().to_string() == error;
  return report;
}

// A line for each field.
std::string text_of(const Report& report) {
  std::ostringstream text;
  text << report.code << '\n'
       << report.culprit << '\n'
       << report.host << '\n'
       << report.sequence << '\n'
       << report.operation << '\n'
       << report.waited_ms << '\n'
       << report.overdue_ms << '\n'
       << report.right << '\n'
       << report.sticky << '\n'
       << report.words;
  return text.str();
}

// As a program that computes between its calls: nobody asks how they do meanwhile.
void compute() { (void)::poll(nullptr, 0, static_cast<int>(kComputing.count())); }

// Makes the calls again and again until one fails.
std::string live(Communicator& world, const Strike& strike) {
  const SystemClock clock;
  const std::vector<Call>& calls = strike.scenario.calls;
  for (std::size_t first = 0;; first += calls.size()) {
    if (world.rank() == strike.computing) compute();
    const std::vector<CallOutcome> round = make_round(world, calls, first, clock);
    if (std::ranges::any_of(round, is_over)) return text_of(report_of(round, world));
  }
}

// ---- in the judge ----

std::optional<Report> parse_report(const std::string& text) {
  std::istringstream lines(text);
  Report report;
  lines >> report.code >> report.culprit;
  lines.ignore();  // the end of the line: what follows may be empty
  std::getline(lines, report.host);
  lines >> report.sequence;
  lines.ignore();
  std::getline(lines, report.operation);
  lines >> report.waited_ms >> report.overdue_ms >> report.right >> report.sticky;
  lines.ignore();
  std::getline(lines, report.words);
  return lines ? std::optional(report) : std::nullopt;
}

// Was that call to be made, as its words say? Every rank makes the same ones, round after round;
// only those of all ranks are counted.
bool is_called(const Report& report, const Scenario& scenario) {
  if (report.sequence < 0) return false;
  const auto sequence = static_cast<std::uint64_t>(report.sequence);
  const auto is_counted = [](const Call& call) { return is_collective(call.kind); };
  const auto round = static_cast<std::uint64_t>(
      std::max<std::ptrdiff_t>(1, std::ranges::count_if(scenario.calls, is_counted)));
  std::uint64_t number = 0;
  return std::ranges::any_of(scenario.calls, [&](const Call& call) {
    const bool is_its_turn = number % round == sequence % round;
    if (is_counted(call)) ++number;
    return is_its_turn && report.operation == words_of(call, sequence, scenario.ranks);
  });
}

std::string judge_report(const Report& report, const Strike& strike) {
  const auto is = [&](Code code) { return report.code == static_cast<int>(code); };
  if (!report.right) return "has a wrong result";
  if (!report.sticky) return "forgot its error";
  if (!is(Code::kPeerLost) && !is(Code::kTimeout)) return "has a wrong code";
  if (std::ranges::count(strike.victims, report.culprit) == 0) return "has a wrong name";
  if (report.host != kHost) return "has a wrong host";
  if (!is_called(report, strike.scenario)) return "names no operation that was called";
  return report.overdue_ms <= kGrace.count() ? "" : "ended late";
}

std::string words_of(const Strike& strike) {
  std::string words = strike.kill ? "SIGKILL" : "SIGSTOP";
  for (std::size_t i = 0; i < strike.victims.size(); ++i) {
    words += (i == 0 ? " to rank " : " and to rank ") + std::to_string(strike.victims[i]) +
             " after " + std::to_string(strike.moments[i] / microseconds(1)) + " us";
  }
  if (strike.computing >= 0) {
    words += ", while rank " + std::to_string(strike.computing) + " computes";
  }
  if (strike.over == ProcessWorld::Over::kSharedMemory) words += ", through shared memory,";
  return words + " in " + to_text(strike.scenario);
}

// Places among the counters.
enum Count : std::size_t {
  kKilled,
  kStopped,
  kTwo,
  kShared,
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
    if (report) note_longest(counters[place], report->waited_ms);
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
  ProcessWorld world(strike.scenario, strike.over,
                     [&](Communicator& own) { return live(own, strike); });
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
  counters[kShared] += strike.over == ProcessWorld::Over::kSharedMemory;
  return judge_world(world, strike, counters);
}

bool try_seed(const ProgramWords& options, std::uint64_t seed, Counters& counters) {
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

int run(const ProgramWords& options) {
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
      "%llu worlds with killed ranks, %llu with stopped ranks (%llu with two, %llu through shared "
      "memory), %llu survivors, %.1f s: %s\n",
      of(kKilled), of(kStopped), of(kTwo), of(kShared), of(kSurvivors),
      std::chrono::duration<double>(clock.now() - begin).count(),
      good ? "all as promised" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const ProgramForm form{
      .defaults = {.program = "killed_and_stopped_ranks", .count = 200, .workers = 4},
      .quick_count = 16};
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  return run(*words);
}
