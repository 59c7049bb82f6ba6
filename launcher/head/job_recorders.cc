#include "launcher/head/job_recorders.h"

#include <utility>

namespace paceline::launcher {

JobRecorders::JobRecorders(JobFiles& files, const Options& options) {
  if (files.trace)
    tracer_.emplace(JobTracer::Options{.begin = options.begin,
                                       .job = options.job,
                                       .file = std::move(files.trace),
                                       .say = options.say});
  if (files.evidence)
    evidence_.emplace(
        EvidenceRecorder::Options{.file = std::move(files.evidence), .say = options.say});
}

std::vector<JobObserver*> JobRecorders::observers() {
  std::vector<JobObserver*> observers;
  if (tracer_) observers.push_back(&*tracer_);
  if (evidence_) observers.push_back(&*evidence_);
  return observers;
}

}  // namespace paceline::launcher
