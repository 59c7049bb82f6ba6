// The observers that write files for the user while the job runs: --trace and --evidence.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/head/evidence_recorder.h"
#include "launcher/head/job_files.h"
#include "launcher/head/job_tracer.h"

namespace paceline::launcher {

class JobRecorders final {
 public:
  struct Options {
    TimePoint begin;
    std::string job;  ///< its name
    /// Gets warnings about the files. The job goes on.
    std::function<void(const std::string&)> say;
  };

  /// Takes the files that are for them.
  JobRecorders(JobFiles& files, const Options& options);

  /// Null: the job has no trace. Lives as long as this.
  JobTrace* trace() { return tracer_ ? &tracer_->trace() : nullptr; }
  /// They come after JobTelemetry. Borrowed from this.
  std::vector<JobObserver*> observers();

 private:
  std::optional<JobTracer> tracer_;
  std::optional<EvidenceRecorder> evidence_;
};

}  // namespace paceline::launcher
