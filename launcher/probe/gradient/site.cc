#include "launcher/probe/gradient/site.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <vector>

#include <paceline/buffer.h>

#include "comm/base/try.h"
#include "launcher/probe/gradient/stand_in.h"
#include "launcher/probe/statistics.h"

namespace paceline::probe {
namespace {

// The shapers of links let a burst of some 100 KiB pass at once: 4 MiB are the least that says
// anything.
constexpr std::size_t kLeastBytes = std::size_t{4} << 20;
// In operations of so much, or in one: a way may be slower where much of it is full at once.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kStep = 4;
constexpr double kLongEnoughUs = 300'000;  // the next size would take four times as long
constexpr int kTimes = 3;
constexpr int kLatencyTimes = 101;

// Of an all-reduce, or of one of each piece in turn, the longest of all ranks.
Result<double> time_us(Communicator& world, std::span<float> array, std::size_t piece,
                       const Clock& clock) {
  PACELINE_TRY(world.barrier());
  const TimePoint begin = clock.now();
  for (std::size_t done = 0; done < array.size(); done += piece)
    PACELINE_TRY(world.all_reduce(array.subspan(done, std::min(piece, array.size() - done)),
                                  ReduceOp::kMax));
  std::vector<double> us{std::chrono::duration<double, std::micro>(clock.now() - begin).count()};
  PACELINE_TRY(world.all_reduce(std::span(us), ReduceOp::kMax));
  return us[0];
}

Result<double> best_time_us(Communicator& world, std::span<float> array, const Clock& clock) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < kTimes; ++i) {
    for (const std::size_t piece : {array.size(), kPieceBytes / sizeof(float)}) {
      PACELINE_TRY_ASSIGN(const double us, time_us(world, array, piece, clock));
      best = std::min(best, us);
    }
  }
  return best;
}

Result<WireRate> measure_wire(Communicator& world, const Clock& clock) {
  PACELINE_TRY_ASSIGN(const Buffer buffer, Buffer::allocate(kMostBytes));
  const std::span<float> all = buffer.as<float>();
  std::fill(all.begin(), all.end(), 0.0F);
  std::vector<double> short_ones;
  for (int i = 0; i < kLatencyTimes; ++i) {
    PACELINE_TRY_ASSIGN(const double us, time_us(world, all.first(1), 1, clock));
    short_ones.push_back(us);
  }
  const double factor = 2.0 * (world.size() - 1) / world.size();
  WireRate wire{.bytes_per_s = 0, .latency_us = quantile(short_ones, 0.5)};
  for (std::size_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= kStep) {
    PACELINE_TRY_ASSIGN(const double us,
                        best_time_us(world, all.first(bytes / sizeof(float)), clock));
    wire.bytes_per_s = 1e6 * factor * static_cast<double>(bytes) / us;
    if (us > kLongEnoughUs) break;
  }
  return wire;
}

Result<double> measure_burning(Communicator& world, const Clock& clock) {
  std::vector<double> rate{0};
  for (int turn = 0; turn < world.size(); ++turn) {
    if (turn == world.rank()) rate[0] = calibrate_burning(clock);
    PACELINE_TRY(world.barrier());
  }
  PACELINE_TRY(world.all_reduce(std::span(rate), ReduceOp::kMax));
  return rate[0];
}

}  // namespace

Result<SiteRow> measure_site(Communicator& world, const Clock& clock) {
  SiteRow site;
  PACELINE_TRY_ASSIGN(site.wire, measure_wire(world, clock));
  PACELINE_TRY_ASSIGN(site.burn_per_us, measure_burning(world, clock));
  return site;
}

}  // namespace paceline::probe
