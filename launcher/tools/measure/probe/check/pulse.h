// Detects whether this process ran all the time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/base/clock.h"

namespace paceline::probe {

/// A thread that wakes up a few times a second. A late wake-up means that the process was stopped,
/// its control group frozen, its host suspended, or that it had no CPU. `clock` is borrowed.
class Pulse {
 public:
  explicit Pulse(const Clock& clock);
  ~Pulse();
  Pulse(const Pulse&) = delete;
  Pulse& operator=(const Pulse&) = delete;

  /// The longest time in which the process did not run since the last call. Any thread.
  Duration take_longest();

 private:
  void run();

  const Clock& clock_;
  std::mutex mutex_;  // guards ending_ and longest_
  std::condition_variable changed_;
  bool ending_ = false;
  Duration longest_{};
  std::thread thread_;  // ends before the other members are destroyed
};

}  // namespace paceline::probe
