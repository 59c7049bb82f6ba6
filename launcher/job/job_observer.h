// Follows a job without a part in its decisions: reports, metrics, records.
#pragma once

#include "launcher/job/job_event.h"
#include "launcher/job/job_state.h"

namespace paceline::launcher {

class JobObserver {
 public:
  virtual ~JobObserver() = default;
  /// Called after each event, with the state that it led to. `now` is the time of the event.
  virtual void saw(TimePoint now, const JobEvent& event, const JobState& state) = 0;
};

}  // namespace paceline::launcher
