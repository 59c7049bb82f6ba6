// What is written down of a running job. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {

struct JobRecord {
  std::string id;  ///< 16 digits of base 16
  std::string host;
  ProcessIdentity head;
  TimePoint begin;  ///< of the host's SystemClock
  int ranks = 0;
  Duration grace{0};
  std::string command;  ///< one line, to be read by people
  std::string cgroup;   ///< the folder of the job's own; empty: it has none

  bool operator==(const JobRecord&) const = default;
};

bool is_job_id(std::string_view word);

/// The words with spaces between, cut to a bounded length; what a terminal would obey is a '?'.
std::string command_line(const std::vector<std::string>& words);

/// A line for each field: its name, a space, its value.
std::string to_text(const JobRecord& record);
/// Nothing where a field is missing or is not what to_text() writes. Lines that it does not know
/// are skipped, so that an older command can read a newer one's records.
std::optional<JobRecord> parse_record(std::string_view text);

}  // namespace paceline::launcher
