// How often and when the ranks of a job are started again after one of them has failed.
#pragma once

#include <chrono>

#include "comm/base/clock.h"

namespace paceline::launcher {

inline constexpr int kMaxRestarts = 1'000'000;

struct RestartRules {
  int max_restarts = 0;                      ///< 0: a failure ends the job
  Duration window{};                         ///< restarts before it do not count; 0: all count
  Duration delay = std::chrono::seconds(1);  ///< before a restart (job/restart_policy.h)

  bool operator==(const RestartRules&) const = default;
};

}  // namespace paceline::launcher
