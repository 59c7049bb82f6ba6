#include "launcher/tools/measure/probe/gradient/wire_meter.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

// The shapers of links let a burst of some 100 KiB pass at once: 4 MiB are the least that says
// anything.
constexpr std::size_t kLeastBytes = std::size_t{4} << 20;
// In operations of so much, or in one: a way may be slower where much of it is full at once.
constexpr std::size_t kPieceBytes = std::size_t{256} << 10;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kGrowth = 4;
constexpr double kLongEnoughUs = 300'000;  // the next size would take four times as long
constexpr int kLatencyTimes = 101;

}  // namespace

Result<WireMeter> WireMeter::make(Communicator& world, const Clock& clock) {
  PACELINE_TRY_ASSIGN(Buffer buffer, Buffer::allocate(kMostBytes));
  const std::span<float> all = buffer.as<float>();
  std::fill(all.begin(), all.end(), 0.0F);
  WireMeter meter(world, clock, std::move(buffer));
  for (std::size_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= kGrowth) {
    meter.count_ = bytes / sizeof(float);
    PACELINE_TRY_ASSIGN(const double us, meter.best_time_us(1));
    if (us > kLongEnoughUs) break;
  }
  return meter;
}

WireMeter::WireMeter(Communicator& world, const Clock& clock, Buffer buffer)
    : world_(world), clock_(clock), buffer_(std::move(buffer)) {}

Result<WireRate> WireMeter::measure(int times) {
  PACELINE_TRY_ASSIGN(const double short_us, latency_us());
  PACELINE_TRY_ASSIGN(const double long_us, best_time_us(times));
  const double factor = 2.0 * (world_.size() - 1) / world_.size();
  const auto bytes = static_cast<double>(count_ * sizeof(float));
  return WireRate{.bytes_per_s = 1e6 * factor * bytes / long_us, .latency_us = short_us};
}

// Of an all-reduce, or of one of each piece in turn, the longest of all ranks.
Result<double> WireMeter::time_us(std::size_t count, std::size_t piece) {
  const std::span<float> array = buffer_.as<float>().first(count);
  PACELINE_TRY(world_.barrier());
  const TimePoint begin = clock_.now();
  for (std::size_t done = 0; done < count; done += piece)
    PACELINE_TRY(
        world_.all_reduce(array.subspan(done, std::min(piece, count - done)), ReduceOp::kMax));
  std::vector<double> us{std::chrono::duration<double, std::micro>(clock_.now() - begin).count()};
  PACELINE_TRY(world_.all_reduce(std::span(us), ReduceOp::kMax));
  return us[0];
}

Result<double> WireMeter::best_time_us(int times) {
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < times; ++i) {
    for (const std::size_t piece : {count_, kPieceBytes / sizeof(float)}) {
      PACELINE_TRY_ASSIGN(const double us, time_us(count_, piece));
      best = std::min(best, us);
    }
  }
  return best;
}

Result<double> WireMeter::latency_us() {
  std::vector<double> all;
  for (int i = 0; i < kLatencyTimes; ++i) {
    PACELINE_TRY_ASSIGN(const double us, time_us(1, 1));
    all.push_back(us);
  }
  return quantile(all, 0.5);
}

}  // namespace paceline::probe
