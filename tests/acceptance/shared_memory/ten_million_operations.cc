// Ten million operations of mixed kinds and sizes between 4 ranks that share memory and 2 cores:
// every result is right and no wake-up is lost, although ranks pause at random and rank 0 stops
// the others (SIGSTOP) and lets them go on (SIGCONT) at random. First as processes, then a part of
// it as threads, so that the thread sanitizer sees both sides of every access.
//
//   ten_million_operations [--quick] [--count N] [--seed N]
//
// A lost wake-up would show as a stall: the longest operation is printed, and one without anybody
// stopped must not take seconds.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/ranks.h"
#include "tests/sim/program_words.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 4;
constexpr Duration kDeadline = std::chrono::hours(2);
// Much longer than any time slice, much shorter than a nap without a bell would add up to.
constexpr Duration kLongest = std::chrono::seconds(2);

// What happens next; the same on every rank.
struct Next {
  OperationKind kind;
  std::size_t count;
  int root;
};

Next next_operation(Random& random) {
  const std::uint64_t kind = random.below(10);
  const std::uint64_t size = random.below(1000);
  const std::size_t most = size < 700 ? 16 : size < 950 ? 600 : size < 998 ? 6000 : 60'000;
  return {.kind = kind < 2   ? OperationKind::kBarrier
                  : kind < 7 ? OperationKind::kAllReduce
                             : OperationKind::kBroadcast,
          .count = random.below(most) + 1,
          .root = static_cast<int>(random.below(kRanks))};
}

// Small whole numbers: every order of a sum gives the same float.
float value_of(std::uint64_t operation, int rank, std::size_t index) {
  return static_cast<float>((operation * 7 + static_cast<std::uint64_t>(rank) * 31 + index) % 1021);
}

Status wrong(std::uint64_t operation, std::size_t index) {
  return Status(
      Code::kInternal, Scope::kOperation,
      "operation " + std::to_string(operation) + " is wrong at element " + std::to_string(index));
}

class Rank {
 public:
  Rank(Communicator& world, std::uint64_t seed, bool stops)
      : world_(world),
        shared_(seed),
        own_(seed * 1000 + static_cast<std::uint64_t>(world.rank()) + 1),
        stops_(stops) {}

  Status run(std::uint64_t count) {
    PACELINE_TRY(meet());
    for (std::uint64_t operation = 0; operation < count; ++operation) {
      const TimePoint begin = clock_.now();
      disturb();
      PACELINE_TRY(try_one(operation));
      longest_ = std::max(longest_, clock_.now() - begin);
    }
    if (world_.rank() == 0) {
      std::printf("  longest operation %.1f ms, ranks were stopped %d times\n",
                  std::chrono::duration<double, std::milli>(longest_).count(), times_stopped_);
    }
    if (longest_ > kLongest) {
      return Status(Code::kTimeout, Scope::kOperation, "an operation waited for a bell");
    }
    return world_.close();
  }

 private:
  // Rank 0 learns the others' processes.
  Status meet() {
    std::vector<std::int64_t> all(kRanks, 0);
    all[static_cast<std::size_t>(world_.rank())] = ::getpid();
    PACELINE_TRY(world_.all_reduce(std::span(all)));
    pids_ = std::move(all);
    return {};
  }

  void disturb() {
    if (own_.below(2000) == 0) {
      for (std::uint64_t left = own_.below(300); left > 0; --left) ::sched_yield();
    }
    if (!stops_ || world_.rank() != 0 || own_.below(20'000) != 0) return;
    const auto victim = static_cast<pid_t>(pids_[1 + own_.below(kRanks - 1)]);
    ::kill(victim, SIGSTOP);
    const Deadline end = Deadline::after(clock_, std::chrono::microseconds(own_.below(10'000)));
    while (!end.passed(clock_.now())) ::sched_yield();
    ::kill(victim, SIGCONT);
    ++times_stopped_;
  }

  Status try_one(std::uint64_t operation) {
    const Next next = next_operation(shared_);
    if (next.kind == OperationKind::kBarrier) return world_.barrier();
    data_.resize(next.count);
    for (std::size_t i = 0; i < next.count; ++i) data_[i] = value_of(operation, world_.rank(), i);
    const bool reduces = next.kind == OperationKind::kAllReduce;
    PACELINE_TRY(reduces ? world_.all_reduce(std::span(data_))
                         : world_.broadcast(std::span(data_), next.root));
    for (std::size_t i = 0; i < next.count; ++i) {
      float expected = reduces ? 0.0f : value_of(operation, next.root, i);
      for (int rank = 0; reduces && rank < kRanks; ++rank) expected += value_of(operation, rank, i);
      if (data_[i] != expected) return wrong(operation, i);
    }
    return {};
  }

  Communicator& world_;
  Random shared_;
  Random own_;
  const bool stops_;
  const SystemClock clock_;
  std::vector<std::int64_t> pids_;
  std::vector<float> data_;
  Duration longest_{0};
  int times_stopped_ = 0;
};

// Half of them as ranks do that have a CPU each, half as those that share some.
constexpr Mode kProcesses[] = {Mode::kDirect, Mode::kGathering};
constexpr Mode kThreads[] = {Mode::kDirectThreads, Mode::kGatheringThreads};

bool has_processes(Mode mode) { return std::ranges::count(kProcesses, mode) > 0; }

bool holds(Mode mode, std::uint64_t count, std::uint64_t seed) {
  std::printf("%llu operations of 4 ranks, %s, seed %llu\n", static_cast<unsigned long long>(count),
              name(mode).c_str(), static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const Status status = run_ranks(
      {.mode = mode, .ranks = kRanks, .timeout = kDeadline},
      [&](Communicator& world) { return Rank(world, seed, has_processes(mode)).run(count); });
  if (!status.ok()) std::printf("  WRONG: %s\n", status.to_string().c_str());
  return status.ok();
}

int run(const ProgramWords& words) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  const std::uint64_t seed = words.seed.value_or(1);
  const std::uint64_t of_threads = std::max<std::uint64_t>(words.count / 50, 2000);
  bool good = true;
  for (const Mode mode : kProcesses) good = good && holds(mode, words.count / 2, seed);
  for (const Mode mode : kThreads) good = good && holds(mode, of_threads / 2, seed + 1);
  std::printf(
      "%llu operations of processes, %llu of threads, %.1f s: %s\n",
      static_cast<unsigned long long>(words.count), static_cast<unsigned long long>(of_threads),
      std::chrono::duration<double>(clock.now() - begin).count(), good ? "all right" : "WRONG");
  return good ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  using namespace paceline::testing;
  const ProgramForm form{.defaults = {.program = "ten_million_operations", .count = 10'000'000},
                         .quick_count = 50'000};
  const auto words = parse_program_words(argc, argv, form);
  if (!words.ok()) {
    std::fprintf(stderr, "%s\n", words.status().text().c_str());
    return 2;
  }
  return run(*words);
}
