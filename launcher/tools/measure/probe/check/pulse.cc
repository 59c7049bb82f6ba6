#include "launcher/tools/measure/probe/check/pulse.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace paceline::probe {
namespace {

constexpr Duration kPeriod = std::chrono::milliseconds(100);

}  // namespace

Pulse::Pulse(const Clock& clock) : clock_(clock), thread_([this] { run(); }) {}

Pulse::~Pulse() {
  {
    const std::lock_guard guard(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Duration Pulse::take_longest() {
  const std::lock_guard guard(mutex_);
  return std::exchange(longest_, Duration::zero());
}

void Pulse::run() {
  std::unique_lock lock(mutex_);
  TimePoint last = clock_.now();
  while (!changed_.wait_for(lock, kPeriod, [this] { return ending_; })) {
    const TimePoint now = clock_.now();
    longest_ = std::max(longest_, now - last - kPeriod);
    last = now;
  }
}

}  // namespace paceline::probe
