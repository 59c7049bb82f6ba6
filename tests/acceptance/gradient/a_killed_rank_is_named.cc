// A rank is killed in the middle of a step, over TCP or in shared memory: each wait() of every
// other rank, for one gradient or for all, ends within seconds with its name, and so does whatever
// is called later.
//
//   a_killed_rank_is_named [--quick] [--seed N]
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/mman.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/clock.h"
#include "comm/base/random.h"
#include "comm/base/text.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kGradients = 12;
constexpr double kLimitMs = 3000;

// In memory that the ranks' processes share with this one.
struct Seen {
  int was_right;
  std::int64_t waited_ns;
  std::array<char, 200> wrong;
};

struct Case {
  std::uint64_t seed = 0;
  int victim = 0;
  std::uint64_t step = 0;  // in which it is killed,
  std::size_t after = 0;   // after so many gradients
  bool waits_one_by_one = false;
};

Case drawn(std::uint64_t seed) {
  Random random(seed);
  return {.seed = seed,
          .victim = static_cast<int>(random.below(kRanks)),
          .step = random.below(5),
          .after = random.below(kGradients + 1),
          .waits_one_by_one = random.below(2) == 0};
}

std::string named(const Status& status, int victim) {
  if (status.ok()) return "success";
  if (status.culprit().rank != victim) return status.to_string();
  return status.code() == Code::kPeerLost ? "" : status.to_string();
}

// The first error of a step, and how long its wait took.
Status take_step(GradientPipeline& pipeline, const Case& one, bool is_struck, Duration& waited) {
  const SystemClock clock;
  for (std::size_t i = kGradients; i-- > 0;) {
    if (is_struck && kGradients - 1 - i == one.after) ::raise(SIGKILL);
    std::ranges::fill(pipeline.gradient<float>(i), 1.0f);
    if (Status status = pipeline.ready(i); !status.ok()) return status;
  }
  if (is_struck) ::raise(SIGKILL);
  const TimePoint begin = clock.now();
  Status status;
  for (std::size_t i = 0; one.waits_one_by_one && i < kGradients && status.ok(); ++i)
    status = pipeline.wait(i);
  if (status.ok()) status = pipeline.wait().status();
  waited = clock.now() - begin;
  return status;
}

// What is wrong with what a survivor saw; empty: nothing.
std::string survive(Communicator& world, const Case& one, Seen& seen) {
  const int rank = world.rank();
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < kGradients; ++i)
    parameters.push_back({.name = "p" + std::to_string(i), .count = 1 + 40'000 * (i % 4)});
  auto pipeline = GradientPipeline::over(std::move(world), parameters, {.bucket_bytes = 100'000});
  if (!pipeline.ok()) return pipeline.status().to_string();
  Status status;
  for (std::uint64_t step = 0; step <= one.step && status.ok(); ++step) {
    Duration waited{};
    status = take_step(*pipeline, one, rank == one.victim && step == one.step, waited);
    seen.waited_ns = waited.count();
  }
  if (std::string wrong = named(status, one.victim); !wrong.empty()) return wrong;
  std::vector<Status> later;
  for (std::size_t i = 0; i < kGradients; ++i) later.push_back(pipeline->wait(i));
  later.push_back(pipeline->wait().status());
  later.push_back(pipeline->ready(0));
  later.push_back(pipeline->join().status());
  for (const Status& other : later)
    if (other.to_string() != status.to_string()) return "later: " + other.to_string();
  return "";
}

bool holds(Mode mode, const Case& one, Seen* seen, double& longest_ms) {
  for (int rank = 0; rank < kRanks; ++rank) seen[rank] = {};
  (void)run_ranks({.mode = mode, .ranks = kRanks, .seed = one.seed}, [&](Communicator& world) {
    Seen& own = seen[world.rank()];
    const std::string wrong = survive(world, one, own);
    std::snprintf(own.wrong.data(), own.wrong.size(), "%s", wrong.c_str());
    own.was_right = wrong.empty() ? 1 : -1;
    return Status();
  });
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == one.victim) continue;
    const double waited_ms = static_cast<double>(seen[rank].waited_ns) / 1e6;
    longest_ms = std::max(longest_ms, waited_ms);
    if (seen[rank].was_right == 1 && waited_ms <= kLimitMs) continue;
    std::printf("%s, --seed %llu: rank %d waited %.0f ms, and: %s\n", name(mode).c_str(),
                static_cast<unsigned long long>(one.seed), rank, waited_ms,
                seen[rank].was_right == 0 ? "did not come to an end" : seen[rank].wrong.data());
    return false;
  }
  return true;
}

int run_all(int cases, std::uint64_t seed) {
  void* const shared = ::mmap(nullptr, sizeof(Seen) * kRanks, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  auto* const seen = static_cast<Seen*>(shared);
  double longest_ms = 0;
  for (int i = 0; i < cases; ++i, ++seed)
    for (const Mode mode : {Mode::kProcesses, Mode::kDirect})
      if (!holds(mode, drawn(seed), seen, longest_ms)) return 1;
  std::printf("%d killed ranks were named by each wait of the other %d, after %.0f ms at most\n",
              2 * cases, kRanks - 1, longest_ms);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  int cases = 200;
  std::uint64_t seed = 1;
  const std::vector<std::string> words(argv + 1, argv + argc);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--quick") {
      cases = 20;
    } else if (words[i] == "--seed" && i + 1 < words.size()) {
      seed = paceline::parse_number<std::uint64_t>(words[++i]).value_or(1);
    } else {
      std::fputs("usage: a_killed_rank_is_named [--quick] [--seed N]\n", stderr);
      return 2;
    }
  }
  return paceline::testing::run_all(cases, seed);
}
