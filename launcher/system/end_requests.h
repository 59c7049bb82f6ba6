// What a signal that asks a process of a job to end means, where several may come. Pure.
#pragma once

#include <cstdint>
#include <map>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// A resource manager signals every process of a job, those of some hosts earlier than those of
/// others, and a program that it signals may pass the signal on. So one request comes several
/// times: to the head, to agents, to ranks. It may also escalate, as LSF does: SIGINT, then
/// SIGTERM. None of that may cut the ranks' grace short. The same signal does if it comes again
/// later.
class EndRequests {
 public:
  enum class Meaning : std::uint8_t {
    kStop,     ///< the first request: the ranks get the signal, and their grace
    kNothing,  ///< a request that is being met
    kKill,     ///< a second request by the same signal: the grace is over
  };

  /// The job ends because another of its processes was asked to end.
  void came_elsewhere() { came_elsewhere_ = true; }

  /// `is_ending`: the job is being stopped already. A first SIGINT then kills: it is a person's,
  /// who has seen the job end too slowly. A signal that repeats within a second (SIGINT: within
  /// 0.2 s) is one request; timeout(1) sends each signal twice.
  Meaning came(int signal, TimePoint now, bool is_ending);

 private:
  std::map<int, TimePoint> first_;  // when each signal first came
  bool came_elsewhere_ = false;
};

}  // namespace paceline::launcher
