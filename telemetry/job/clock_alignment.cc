#include "telemetry/job/clock_alignment.h"

#include <algorithm>
#include <chrono>

namespace paceline {

void ClockAlignment::take(const Exchange& exchange) {
  if (exchange.answered < exchange.asked) return;
  exchanges_.push_back(exchange);
  if (exchanges_.size() > kMostExchanges) exchanges_.pop_front();
}

ClockAlignment::Bounds ClockAlignment::bounds_of(const Exchange& one, TimePoint now) {
  const Duration age = std::max(now - one.asked, Duration::zero());
  const auto drift = std::chrono::ceil<Duration>(
      std::chrono::duration<double, Duration::period>(kDrift * static_cast<double>(age.count())));
  return {.least = one.asked - one.told - drift, .most = one.answered - one.told + drift};
}

// If the exchanges contradict each other, a clock has jumped, as when a machine was suspended.
std::optional<ClockAlignment::Estimate> ClockAlignment::estimate(TimePoint now) const {
  if (exchanges_.empty()) return std::nullopt;
  Bounds all{.least = Duration::min(), .most = Duration::max()};
  for (const Exchange& one : exchanges_) {
    const Bounds bounds = bounds_of(one, now);
    all = {.least = std::max(all.least, bounds.least), .most = std::min(all.most, bounds.most)};
  }
  if (all.most < all.least) all = bounds_of(exchanges_.back(), now);
  const Duration half = (all.most - all.least + Duration(1)) / 2;  // rounded up
  return Estimate{.ahead = all.least + half, .error = half};
}

}  // namespace paceline
