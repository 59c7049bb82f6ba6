// How the calling thread spends its time: on a CPU, ready but without one, or asleep.
#pragma once

#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/probe/check/measurements.h"

namespace paceline::probe {

/// Who sleeps waits for the network; who is always busy or ready is bound by its CPUs. How long it
/// was ready is told by /proc/thread-self/schedstat, or else by the pressure of its control group,
/// or else known as far as it was throttled.
class CpuMeter {
 public:
  /// Begins. `clock` is borrowed.
  explicit CpuMeter(const Clock& clock);
  /// Since it began.
  CpuUse read() const;

 private:
  struct Reading {
    TimePoint moment;
    double busy_ns = 0;
    double waiting_ns = 0;
    double throttled_ns = 0;
  };
  Reading look() const;

  const Clock& clock_;
  const std::vector<std::string> groups_;  // folders, from this process's own group upwards
  const Reading begin_;
};

/// Keeps a CPU busy for so long.
CpuUse spin(const Clock& clock, Duration time);

}  // namespace paceline::probe
