#include "comm/base/tick_clock.h"

#include <algorithm>
#include <fstream>
#include <string>

#include <x86intrin.h>

namespace paceline {
namespace {

// How long ticks are counted, and the least time to learn their length from.
constexpr double kCountNs = 1e6;
// The counter may have gone on while the clock stood still, as in a suspended machine.
constexpr std::int64_t kLongestLessonNs = 1'000'000'000;
constexpr double kMostTicks = 1e7;
// 100 to 200 ns; a look takes 100 ticks where nothing comes between.
constexpr std::uint64_t kLongestLook = 400;
// Counting loses 244 ns in a millisecond, more than two looks can be wrong about the ticks between
// them. So the count is never ahead of the clock, and the next look never goes back.
constexpr double kSlower = 1.0 - 1.0 / 4096;

// No call into the dynamic linker, as is a shared library's way to its variables of a thread.
[[gnu::tls_model("initial-exec")]] constinit thread_local TickCount count;

// Only a counter of constant rate that is the same on all processors is made the clock's source.
bool kernel_trusts_counter() {
  std::ifstream file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string source;
  return file >> source && source == "tsc";
}

TimePoint look_at_clock() {
  static const bool trusted = kernel_trusts_counter();
  const std::uint64_t before = __rdtsc();
  const TimePoint now = SystemClock().now();
  const std::uint64_t after = __rdtsc();
  if (trusted)
    count.learn({.before = before, .ns = now.time_since_epoch().count(), .after = after});
  return now;
}

}  // namespace

void TickCount::learn(const Look& look) {
  if (look.after - look.before > kLongestLook) return;
  const std::int64_t passed_ns = look.ns - ns_;
  const bool first = ns_ == 0 || passed_ns > kLongestLessonNs;
  if (!first) {
    if (static_cast<double>(passed_ns) < kCountNs) return;
    const double tick_ns =
        static_cast<double>(passed_ns) / static_cast<double>(look.after - ticks_);
    scale_ = static_cast<std::uint64_t>(tick_ns * kSlower * 0x1p32);
    good_for_ = static_cast<std::uint64_t>(std::min(kCountNs / tick_ns, kMostTicks));
  }
  ticks_ = look.after;
  ns_ = look.ns;
}

TimePoint TickClock::now() const {
  const std::uint64_t ticks = __rdtsc();
  if (!count.covers(ticks)) return look_at_clock();
  return TimePoint(Duration(count.at(ticks)));
}

}  // namespace paceline
