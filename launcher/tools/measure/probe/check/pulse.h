// Whether this process ran all the time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/base/clock.h"

namespace paceline::probe {

/// Wakes up a few times a second. If it wakes up late, the process was stopped, its control group
/// frozen, its host suspended, or there was no CPU for it. `clock` is borrowed.
class Pulse {
 public:
  explicit Pulse(const Clock& clock);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// The longest time in which the process did not run, since the last call. Any thread.
  Duration take_longest();

 private:
  void run();

  const Clock& clock_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool ending_ = false;
  Duration longest_{};
  std::thread thread_;  // ends before the rest
};

}  // namespace paceline::probe
