#include "launcher/tools/measure/probe/loop/limit.h"

#include <bit>
#include <vector>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

constexpr int kBatches = 60;
constexpr std::uint32_t kRoundTrips = 200;
constexpr double kUndisturbedBatches = 0.1;  // the batches in which nobody else had a CPU
constexpr Duration kLongestRoundTrip = std::chrono::seconds(20);

// `mine` and `other` count round trips. The first of the two writes before it waits.
bool go_to_and_fro(SharedMeeting::Line& mine, SharedMeeting::Line& other, bool first,
                   const Patience& patience) {
  const std::uint32_t begin = mine.value.load(std::memory_order_relaxed);
  for (std::uint32_t i = 1; i <= kRoundTrips; ++i) {
    if (first) mine.value.store(begin + i, std::memory_order_release);
    const auto come = [&] { return other.value.load(std::memory_order_acquire) == begin + i; };
    if (!patience.wait(come, kLongestRoundTrip)) return false;
    if (!first) mine.value.store(begin + i, std::memory_order_release);
  }
  return true;
}

}  // namespace

double limit_ns(const Operation& operation, std::size_t bytes, int ranks, const Machine& machine) {
  const auto rounds = std::bit_width(static_cast<unsigned>(ranks - 1));
  const double flags = machine.flag_ns * static_cast<double>(rounds);
  if (bytes == 0 || machine.bytes_per_ns <= 0) return flags;
  const double written = static_cast<double>(bytes) * operation.written(ranks);
  return flags + written / machine.bytes_per_ns;
}

Result<double> measure_flag_ns(SharedMeeting& meeting, const Clock& clock) {
  const auto [rank, ranks, cpus] = meeting.place();
  if (ranks == 1) return 0.0;
  const Patience patience(clock, 2, cpus);  // the others sleep
  auto& lines = meeting.lines();
  std::vector<double> batches;
  for (int batch = 0; rank < 2 && batch < kBatches; ++batch) {
    const TimePoint begin = clock.now();
    const auto me = static_cast<std::size_t>(rank);
    if (!go_to_and_fro(lines[me], lines[1 - me], rank == 0, patience))
      return Status(Code::kTimeout, Scope::kGroup,
                    "rank " + std::to_string(1 - rank) + " has not answered a flag for 20 s");
    batches.push_back(static_cast<double>((clock.now() - begin).count()) / (2 * kRoundTrips));
  }
  const std::int64_t picoseconds[] = {
      static_cast<std::int64_t>(1000 * quantile(batches, kUndisturbedBatches))};
  PACELINE_TRY_ASSIGN(const auto all, meeting.share(picoseconds));
  return static_cast<double>(all.front()) / 1000;
}

}  // namespace paceline::probe
