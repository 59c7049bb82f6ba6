// A job as clients of its control service and viewers of its pages see it: its hosts and ranks,
// what each rank does, and the speed of all.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "comm/base/clock.h"
#include "launcher/control/snapshot.h"
#include "launcher/head/console.h"
#include "launcher/head/job_telemetry.h"
#include "launcher/job/job_state.h"
#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

class JobSnapshot {
 public:
  /// `state`: null until the agents of all hosts are connected. The others are borrowed.
  JobSnapshot(JobFacts facts, std::function<const JobState*()> state, const JobTelemetry& telemetry,
              const Console& console, const Clock& clock)
      : facts_(std::move(facts)),
        state_(std::move(state)),
        telemetry_(telemetry),
        console_(console),
        clock_(clock) {}

  job::v1::Snapshot take() const;

 private:
  void add_operations(std::size_t rank, TimePoint now, job::v1::Rank& to) const;

  const JobFacts facts_;
  const std::function<const JobState*()> state_;
  const JobTelemetry& telemetry_;
  const Console& console_;
  const Clock& clock_;
};

}  // namespace paceline::launcher
