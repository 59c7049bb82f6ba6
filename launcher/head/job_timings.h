// The stages of a running job, for `paceline run --timings`. Those of ranks are of the latest
// start.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "launcher/head/timings.h"
#include "launcher/job/job_observer.h"

namespace paceline::launcher {

class JobTimings final : public JobObserver {
 public:
  /// `timings` is borrowed, and has the stages before the job begins. `say` gets the table when the
  /// job has ended.
  JobTimings(Timings& timings, std::function<void(const std::string&)> say)
      : timings_(timings), say_(std::move(say)) {}

  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  void note(Stage stage, std::uint32_t rank, std::int64_t time_ns, const JobState& state);
  void note_message(std::size_t host, const messages::FromAgent& message, const JobState& state);

  Timings& timings_;
  const std::function<void(const std::string&)> say_;
  std::uint32_t epoch_ = 0;
  bool seeks_hosts_ = false;
  std::vector<bool> cleared_;  // by host; of the latest start
  bool said_ = false;
};

}  // namespace paceline::launcher
