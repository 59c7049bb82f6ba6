// How often, when and where the ranks of a job are started again after one of them, or a host, has
// failed.
#pragma once

#include <chrono>

#include "comm/base/clock.h"

namespace paceline::launcher {

inline constexpr int kMaxRestarts = 1'000'000;

struct RestartRules {
  int max_restarts = 0;                          ///< 0: a failure ends the job
  Duration window{};                             ///< restarts before it do not count; 0: all count
  Duration delay = std::chrono::seconds(1);      ///< before a restart (job/restart_policy.h)
  Duration cool_down = std::chrono::minutes(5);  ///< a host that failed gets no ranks for this time

  bool operator==(const RestartRules&) const = default;
};

}  // namespace paceline::launcher
