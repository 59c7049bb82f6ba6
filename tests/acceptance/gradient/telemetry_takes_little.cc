// What is written down of the operations of a step, for who looks at a rank that hangs or has
// crashed, takes under 1 % of the step.
//
//   telemetry_takes_little [--quick]
//
// A record of an operation is begun and ended in a ring as ranks have it, with a look at the clock
// for each. A step of each trace has at most an operation for each 256 KiB, the least that the
// pipeline cuts, and one for each gradient; it takes at least as long as its gradients do on a wire
// of 10 Gbit/s between 2 hosts. --quick judges nothing but that the last record is there.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "telemetry/flight_ring.h"

namespace paceline::testing {
namespace {

constexpr double kMost = 0.01;
constexpr int kTrials = 9;
constexpr std::uint64_t kRecords = 1'000'000, kQuickRecords = 10'000;
constexpr double kCutBytes = 256 << 10;
constexpr double kBytesPerNs = 1.25;  // 10 Gbit/s

struct Model {
  const char* name;
  double parameters;
  double gradients;
};
constexpr Model kModels[] = {
    {"resnet50", 25'557'032, 161}, {"bert", 109'482'240, 199}, {"gpt2", 124'439'808, 148}};

double ns_of_record(FlightRing& ring, std::uint64_t records) {
  const SystemClock clock;
  const TimePoint begin = clock.now();
  for (std::uint64_t i = 0; i < records; ++i) {
    Signature signature{.sequence = i, .count = 65'536};
    const std::uint64_t place = ring.start(signature, clock.now());
    ring.finish(place, FlightState::kSucceeded, clock.now());
  }
  return static_cast<double>((clock.now() - begin).count()) / static_cast<double>(records);
}

int run(bool quick) {
  const std::unique_ptr<FlightRing> ring = FlightRing::create_private();
  const std::uint64_t records = quick ? kQuickRecords : kRecords;
  double best_ns = std::numeric_limits<double>::max();
  for (int i = 0; i < kTrials; ++i) best_ns = std::min(best_ns, ns_of_record(*ring, records));
  const std::vector<FlightRecord> last = ring->read();
  if (last.empty() || last.back().signature.sequence != records - 1) {
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
  const bool holds = quick || most < kMost;
  std::printf("%sa record takes %.0f ns, all of a step at most %.4f %% of it (%.0f %% allowed)\n",
              holds ? "" : "FAILED: ", best_ns, 100 * most, 100 * kMost);
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  return paceline::testing::run(argc > 1 && std::string_view(argv[1]) == "--quick");
}
