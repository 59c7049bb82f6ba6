// The files that a job writes for the user, beside its output.
#pragma once

#include <memory>

#include <paceline/status.h>

#include "launcher/head/growing_file.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/new_file.h"

namespace paceline::launcher {

/// Null: the user has not asked for the file.
struct JobFiles {
  std::unique_ptr<NewFile> host_faults;
  std::unique_ptr<NewFile> entry;  ///< of the run record
  std::unique_ptr<GrowingFile> trace;
  std::unique_ptr<GrowingFile> evidence;

  /// Before anything starts, so that no job runs whose files cannot be made, or replace each other.
  static Result<JobFiles> make(const JobSpec& job);
};

}  // namespace paceline::launcher
