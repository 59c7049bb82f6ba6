// Marking a step and counting its operations takes at most 1 % of the CPU time of a short step, and
// counting an operation at most 60 ns.
//
// The test times marks, and what the library does after an operation: it adds exposed time to the
// ledger, and counts the operation in the book of a shared flight ring. The short step is that of
// train_digits on 8 ranks: an eighth of the step that it makes here as one rank, with its 2
// buckets, and one more operation for the agreement about them.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>

#include <paceline/steps.h>

#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "telemetry/flight_ring.h"
#include "telemetry/step_ledger.h"
#include "tests/harness/figure.h"

namespace paceline::testing {
namespace {

constexpr double kMostShare = 0.01;
constexpr double kMostNs = 60;
constexpr int kTrials = 9;
constexpr std::uint64_t kTimes = 1'000'000;
constexpr int kRanks = 8;
constexpr int kOperations = 3;

template <class Act>
double best_ns_of(const Act& act) {
  const SystemClock clock;
  double best = std::numeric_limits<double>::max();
  for (int trial = 0; trial < kTrials; ++trial) {
    const TimePoint begin = clock.now();
    for (std::uint64_t i = 0; i < kTimes; ++i) act(i);
    best = std::min(best, static_cast<double>((clock.now() - begin).count()));
  }
  return best / static_cast<double>(kTimes);
}

// 0: train_digits cannot be run, or prints no step.
double digits_step_ns() {
  const char* const build = std::getenv("PACELINE_BUILD");
  const std::string command =
      std::string(build != nullptr ? build : "build/release") + "/bin/train_digits --epochs 20";
  std::FILE* const output = ::popen(command.c_str(), "r");
  if (output == nullptr) return 0;
  double step_ms = 0;
  char line[512];
  while (std::fgets(line, sizeof line, output) != nullptr)
    std::sscanf(line, "step %lf ms", &step_ms);
  return ::pclose(output) == 0 ? 1e6 * step_ms : 0;
}

int run() {
  const double mark_ns = best_ns_of([](std::uint64_t) {
    begin_step();
    end_step(64);
  });
  const auto memory = FlightRing::create_memory().value();
  const auto ring = FlightRing::open(memory.get()).value();
  const auto ledger = StepLedger::create_private();
  const TimePoint begin = SystemClock().now();
  const double operation_ns = best_ns_of([&](std::uint64_t i) {
    const TimePoint called = begin + Duration(2 * i);
    const TimePoint ended = called + Duration(1);
    if (!ledger->counts_here()) return;
    const Duration exposed = ledger->add_exposed(called, ended);
    ring->count({.sequence = i, .count = 1000, .kind = OperationKind::kAllReduce},
                {.called = called, .ended = ended, .exposed = exposed});
  });
  const double step_ns = digits_step_ns() / kRanks;
  if (step_ns == 0) {
    std::puts("FAILED: train_digits printed no step");
    return 1;
  }
  const double share = (mark_ns + kOperations * operation_ns) / step_ns;
  report({.name = "marks of a step", .value = mark_ns, .unit = "ns", .better = Better::kLower});
  bool holds = report({.name = "count of an operation",
                       .value = operation_ns,
                       .unit = "ns",
                       .better = Better::kLower,
                       .wanted = kMostNs});
  holds &= report({.name = "share of a short step",
                   .value = 100 * share,
                   .unit = "%",
                   .better = Better::kLower,
                   .wanted = 100 * kMostShare});
  std::printf(
      "%sthe marks of a step take %.0f ns, and each of its operations %.0f ns: %.3f %% of a "
      "step of %.0f us\n",
      holds ? "" : "FAILED: ", mark_ns, operation_ns, 100 * share, step_ns / 1e3);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main() { return paceline::testing::run(); }
