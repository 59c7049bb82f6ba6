// What `paceline list` shows, and how `paceline cancel` finds the job that is meant. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/registry/record.h"

namespace paceline::launcher {

/// "7 s", "3 min 20 s", "5 h 12 min", "2 d 3 h".
std::string elapsed_text(Duration elapsed);

struct ListedJob {
  JobRecord record;
  bool has_head = true;  ///< false: it has gone, and others are still clearing up
  std::string phase{};   ///< as its head says, "running"; empty: not known
};

/// A line of headings and one for each job, aligned; commands are cut at `columns`.
std::string job_table(const std::vector<ListedJob>& jobs, TimePoint now, std::size_t columns);

/// The same as a JSON array of objects: id, host, head (a process, or null), ranks, elapsed_s,
/// command, phase (a string, or null).
std::string job_json(const std::vector<ListedJob>& jobs, TimePoint now);

/// The only job whose id begins with `prefix`, or the only one for ""; an error says what there is
/// instead.
Result<JobRecord> find_job(const std::vector<JobRecord>& jobs, std::string_view prefix);

}  // namespace paceline::launcher
