// The hosts that a user names, on the command line or in a file. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// "a:4,node[01-16]:2,[fe80::1]:4,b": names, ranges of them and addresses set apart by commas, each
/// with its slots where they are stated. Never empty.
Result<std::vector<HostSlots>> parse_host_list(std::string_view text);

/// A host, or a range of them, per line: "name", "name slots=N max_slots=N" (Open MPI) or "name:N"
/// (MPICH); what follows a '#' is a comment. Lines end with \n or \r\n. Never empty, and at most
/// kMaxRanks hosts. An error begins with `file` and the number of the line.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& file);

}  // namespace paceline::launcher
