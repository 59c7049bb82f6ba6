// Writes the trace of a job while it runs: `paceline run --trace`.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/head/growing_file.h"
#include "launcher/job/job_observer.h"
#include "telemetry/job/job_trace.h"

namespace paceline::launcher {

class JobTracer final : public JobObserver {
 public:
  struct Options {
    TimePoint begin;
    std::string job;  ///< its name
    std::unique_ptr<GrowingFile> file;
    /// Gets one warning if the file cannot be written. The job goes on without a trace.
    std::function<void(const std::string&)> say;
  };

  explicit JobTracer(Options options);
  /// Closes the trace of a job that did not begin.
  ~JobTracer() override;

  /// For readings and operations; see JobTelemetry. Lives as long as this.
  JobTrace& trace() { return trace_; }

  /// After the observer that passes readings on.
  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  void note_start(TimePoint now, const JobState& state);
  void note_end_of_rank(TimePoint now, const AgentSaid& said, const JobState& state);
  void note_lost_ranks(TimePoint now, const JobState& state);
  void append(const std::string& events);

  const Options options_;
  JobTrace trace_;
  TimePoint written_;
  std::optional<std::uint32_t> epoch_;
  std::vector<bool> ended_;  // by rank
  bool is_restarting_ = false;
  std::size_t faults_ = 0;  // that have been noted
};

}  // namespace paceline::launcher
