#include "launcher/tools/measure/probe/gradient/stand_in.h"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include <time.h>

#include "launcher/tools/measure/probe/gradient/burn_loop.h"

namespace paceline::probe {
namespace {

constexpr int kTrials = 20;
constexpr std::uint64_t kTrialRounds = 4'000'000;  // about 5 ms

std::uint64_t burn(std::uint64_t rounds) {
  volatile std::uint64_t used = burn_rounds(rounds);
  return used;
}

class Sleeping final : public StandIn {
 public:
  explicit Sleeping(const Clock& clock) : clock_(clock) {}

  void begin() override { due_ = clock_.now(); }

  void compute(double us) override {
    due_ += std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::micro>(us));
    if (due_ <= clock_.now()) return;
    const auto since_boot = due_.time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    const timespec moment{.tv_sec = seconds.count(), .tv_nsec = (since_boot - seconds).count()};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
    }
  }

 private:
  const Clock& clock_;
  TimePoint due_;
};

class Burning final : public StandIn {
 public:
  explicit Burning(double rounds_per_us) : rounds_per_us_(rounds_per_us) {}

  void begin() override {}
  void compute(double us) override { burn(static_cast<std::uint64_t>(us * rounds_per_us_)); }

 private:
  const double rounds_per_us_;
};

}  // namespace

std::unique_ptr<StandIn> make_stand_in(const GradientOrders& orders, const Clock& clock) {
  if (orders.burns) return std::make_unique<Burning>(orders.burn_per_us);
  return std::make_unique<Sleeping>(clock);
}

double calibrate_burning(const Clock& clock) {
  double most = 0;
  for (int i = 0; i < kTrials; ++i) {
    const TimePoint begin = clock.now();
    burn(kTrialRounds);
    const auto us = std::chrono::duration<double, std::micro>(clock.now() - begin).count();
    most = std::max(most, static_cast<double>(kTrialRounds) / us);
  }
  return most;
}

}  // namespace paceline::probe
