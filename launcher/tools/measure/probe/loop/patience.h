// How ranks on one host wait for a word that another one writes.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

#include "comm/base/clock.h"

namespace paceline::probe {

/// Pauses first, where each rank has a CPU for itself, and yields then: a pause on the CPU of the
/// rank that is waited for would cost a scheduler's tick.
class Patience {
 public:
  /// `clock` is borrowed.
  Patience(const Clock& clock, int ranks, int cpus)
      : clock_(clock), pauses_(ranks <= cpus ? kPauses : 0) {}

  /// Until `condition()`; false once `limit` is over. `yields`: how often, at most; 0: for ever.
  template <class Condition>
  bool wait(Condition condition, Duration limit, int yields = 0) const {
    for (int i = 0; i < pauses_; ++i) {
      if (condition()) return true;
      __builtin_ia32_pause();
    }
    const Deadline deadline = Deadline::after(clock_, limit);
    for (int i = 0; yields == 0 || i < yields; ++i) {
      if (condition()) return true;
      ::sched_yield();
      if (i % kYieldsPerLook == kYieldsPerLook - 1 && deadline.passed(clock_.now())) return false;
    }
    return condition();
  }

 private:
  static constexpr int kPauses = 2000;
  static constexpr int kYieldsPerLook = 16;

  const Clock& clock_;
  int pauses_;
};

}  // namespace paceline::probe
