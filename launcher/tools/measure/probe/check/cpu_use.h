// How the calling thread spends its time: on a CPU, ready but without one, or asleep.
#pragma once

#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/connectivity/measurements.h"

namespace paceline::probe {

inline constexpr double kNsPerUs = 1e3;

/// Who sleeps waits for the network; who is always busy or ready is bound by its CPUs. How long it
/// was ready is told by /proc/thread-self/schedstat, or else by the pressure of its control group;
/// a kernel may have neither, and then it is 0. How often the group's quota was used up is counted;
/// for how long is not told exactly: the kernel adds it up for each CPU, and afterwards.
class CpuMeter {
 public:
  /// Begins. `clock` is borrowed.
  explicit CpuMeter(const Clock& clock);
  /// Since it began.
  CpuUse read() const;

 private:
  struct Periods {
    double all = 0;
    double throttled = 0;
  };
  struct Reading {
    TimePoint moment;
    double busy_ns = 0;
    double waiting_ns = 0;
    std::vector<Periods> periods;  // of each group
  };
  Reading look() const;
  static Periods periods_in(const std::string& group);

  const Clock& clock_;
  const std::vector<std::string> groups_;  // folders, from this process's own group upwards
  const Reading begin_;
};

/// Keeps a CPU busy for so long.
CpuUse spin(const Clock& clock, Duration time);

}  // namespace paceline::probe
