// Recording the operations of a step takes less than 1 % of the step. The records show the state of
// a rank that hangs or has crashed.
//
// The test begins and ends a record of an operation in a ring like that of a rank, and reads the
// clock for each. A step of a trace has at most one operation for each 256 KiB, the smallest part
// that the pipeline cuts, and one for each gradient. It takes at least as long as its gradients
// take on a network of 10 Gbit/s between 2 hosts. The last record must be in the ring, too.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "telemetry/flight_ring.h"
#include "tests/harness/figure.h"

namespace paceline::testing {
namespace {

constexpr double kMost = 0.01;
constexpr int kTrials = 9;
constexpr std::uint64_t kRecords = 1'000'000;
constexpr double kCutBytes = 256 << 10;
constexpr double kBytesPerNs = 1.25;  // 10 Gbit/s

struct Model {
  const char* name;
  double parameters;
  double gradients;
};
constexpr Model kModels[] = {
    {"resnet50", 25'557'032, 161}, {"bert", 109'482'240, 199}, {"gpt2", 124'439'808, 148}};

double ns_of_record(FlightRing& ring) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  for (std::uint64_t i = 0; i < kRecords; ++i) {
    Signature signature{.sequence = i, .count = 65'536};
    const std::uint64_t place = ring.start(signature, clock.now());
    ring.finish(place, FlightState::kSucceeded, clock.now());
  }
  return static_cast<double>((clock.now() - begin).count()) / static_cast<double>(kRecords);
}

int run() {
  const std::unique_ptr<FlightRing> ring = FlightRing::create_private();
  double best_ns = std::numeric_limits<double>::max();
  for (int i = 0; i < kTrials; ++i) best_ns = std::min(best_ns, ns_of_record(*ring));
  const std::vector<FlightRecord> last = ring->read();
  if (last.empty() || last.back().signature.sequence != kRecords - 1) {
    std::puts("FAILED: the last record is not there");
    return 1;
  }
  double most = 0;
  for (const Model& model : kModels) {
    const double bytes = model.parameters * sizeof(float);
    const double operations = bytes / kCutBytes + model.gradients;
    const double share = operations * best_ns / (bytes / kBytesPerNs);
    std::printf("%s: at most %.0f operations: %.4f %% of a step without any computing\n",
                model.name, operations, 100 * share);
    most = std::max(most, share);
  }
  report({.name = "a record", .value = best_ns, .unit = "ns", .better = Better::kLower});
  const bool holds = report({.name = "all records, share of a step",
                             .value = 100 * most,
                             .unit = "%",
                             .better = Better::kLower,
                             .wanted = 100 * kMost});
  std::printf("%sa record takes %.0f ns, all of a step at most %.4f %% of it (%.0f %% allowed)\n",
              holds ? "" : "FAILED: ", best_ns, 100 * most, 100 * kMost);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main() { return paceline::testing::run(); }
