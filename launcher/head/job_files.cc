#include "launcher/head/job_files.h"

#include "comm/base/try.h"

namespace paceline::launcher {

Result<JobFiles> JobFiles::make(const JobSpec& job) {
  JobFiles files;
  if (!job.host_faults_file.empty()) {
    PACELINE_TRY_ASSIGN(files.host_faults, NewFile::make(job.host_faults_file));
  }
  if (!job.entry_file.empty()) {
    PACELINE_TRY_ASSIGN(files.entry, NewFile::make(job.entry_file));
  }
  if (!job.trace_file.empty() && !job.placement.dry_run) {
    PACELINE_TRY_ASSIGN(files.trace, TraceFile::make(job.trace_file));
  }
  return files;
}

}  // namespace paceline::launcher
