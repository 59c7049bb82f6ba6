// A job as clients of the control service see it (launcher/proto/job_v1.proto). Pure.
#pragma once

#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/job/job_state.h"
#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// The facts of a job that are known before its hosts.
struct JobFacts {
  std::string id;
  std::string command;
  std::string ablated;             ///< "comm"; empty: nothing
  TimePoint begin{};               ///< of the loop's clock
  Duration begin_since_1970{};     ///< the same moment by the wall clock
  std::vector<std::string> hosts;  ///< in the order of their ranks
};

/// `state`: null until the agents of all hosts are connected.
job::v1::Snapshot snapshot_of(const JobFacts& facts, const JobState* state, TimePoint now);

}  // namespace paceline::launcher
