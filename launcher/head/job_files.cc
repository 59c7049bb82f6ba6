#include "launcher/head/job_files.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

struct Output {
  const char* option;
  const std::string& path;  // empty: it is not asked for
};

// Devices and pipes take what several write.
bool is_one_file(const std::string& one, const std::string& other) {
  if (one.empty() || other.empty()) return false;
  std::error_code error;
  const fs::file_status status = fs::status(one, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) return false;
  const fs::path place = fs::weakly_canonical(fs::absolute(one, error), error);
  return !place.empty() && place == fs::weakly_canonical(fs::absolute(other, error), error);
}

Status check_apart(const std::vector<Output>& outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one)
    for (auto other = outputs.begin(); other != one; ++other)
      if (is_one_file(one->path, other->path))
        return Status(Code::kInvalidArgument, Scope::kOperation,
                      std::string(other->option) + " and " + one->option + " both write '" +
                          one->path + "'; use two files");
  return {};
}

}  // namespace

Result<JobFiles> JobFiles::make(const JobSpec& job) {
  PACELINE_TRY(check_apart({{"--host-faults", job.host_faults_file},
                            {"--membership", job.membership_file},
                            {"--trace", job.trace_file},
                            {"--evidence", job.evidence_file}}));
  JobFiles files;
  if (!job.host_faults_file.empty()) {
    PACELINE_TRY_ASSIGN(files.host_faults, NewFile::make(job.host_faults_file));
  }
  if (!job.entry_file.empty()) {
    PACELINE_TRY_ASSIGN(files.entry, NewFile::make(job.entry_file));
  }
  if (!job.trace_file.empty() && !job.placement.dry_run) {
    PACELINE_TRY_ASSIGN(files.trace, GrowingFile::make(job.trace_file, "a trace"));
  }
  if (!job.evidence_file.empty() && !job.placement.dry_run) {
    PACELINE_TRY_ASSIGN(files.evidence, GrowingFile::make(job.evidence_file, "evidence"));
  }
  return files;
}

}  // namespace paceline::launcher
