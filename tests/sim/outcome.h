// What became of a scenario: what each rank saw of each of its calls, as plain values for a judge.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::testing {

struct CallOutcome {
  std::uint64_t begun = 0;  ///< its place among all begins and ends of the world, from 1
  std::uint64_t ended = 0;
  TimePoint began_at{};
  TimePoint asked_at{};  ///< when its end was waited for
  TimePoint ended_at{};
  Status status;
  std::string wrong;  ///< of a success: which element of the result is not right
};

struct RankOutcome {
  std::vector<CallOutcome> calls;  ///< those of calls_of(), then close()
  Duration leaving{};              ///< what the end of its communicator took
};

struct Outcome {
  Status simulated;         ///< not ok: the simulation came to no end
  std::uint64_t steps = 0;  ///< of the simulation
  Duration slack{};         ///< what a clock of real time adds; simulated time is exact
  std::vector<RankOutcome> ranks;
  std::vector<std::string> hosts;  ///< by rank, as their group names them
  std::vector<int> lost;           ///< ranks that were lost before they had left by themselves
  std::vector<int> cut_off;        ///< one side of a partition that was not healed
};

}  // namespace paceline::testing
