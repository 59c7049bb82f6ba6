// Decides what a signal that asks a process of a job to end means, if several signals may come.
// Pure.
#pragma once

#include <cstdint>
#include <map>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// A resource manager sends a signal to every process of a job, at different times on different
/// hosts. A program that gets the signal may pass it on. So one request arrives several times, at
/// the head, agents and ranks. It may also escalate, as in LSF: SIGINT, then SIGTERM. None of this
/// may shorten the grace period of the ranks. Only the same signal, repeated later, ends it.
class EndRequests {
 public:
  enum class Meaning : std::uint8_t {
    kStop,     ///< the first request: the ranks get the signal, and their grace
    kNothing,  ///< a request that is being met
    kKill,     ///< a second request by the same signal: the grace is over
  };

  /// Call it if another process of the job was asked to end.
  void came_elsewhere() { came_elsewhere_ = true; }

  /// `is_ending`: the job is already being stopped. A first SIGINT then kills, because it comes
  /// from a user who has seen the job end too slowly. A signal that repeats within a second
  /// (SIGINT: within 0.2 s) is one request; timeout(1) sends each signal twice.
  Meaning came(int signal, TimePoint now, bool is_ending);

 private:
  std::map<int, TimePoint> first_;  // when each signal first came
  bool came_elsewhere_ = false;
};

}  // namespace paceline::launcher
