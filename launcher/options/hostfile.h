// The hosts that a user names, on the command line or in a file. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// "a:4,node[01-16]:2,[fe80::1]:4,b": names, ranges of them and addresses, separated by commas,
/// each with its slots if they are stated. A host with 0 slots is left out. Never empty.
Result<std::vector<HostSlots>> parse_host_list(std::string_view text);

struct HostOption {
  std::vector<HostSlots> hosts;       ///< those without '^'; empty: there are none
  std::vector<std::string> excluded;  ///< "^node[03-04]": hosts that are not used
};
/// The value of -H. Not both of it are empty.
Result<HostOption> parse_host_option(std::string_view text);

/// Without those that are excluded. Errors: an excluded host that is not among them, and no host
/// that is left.
Result<std::vector<HostSlots>> without_excluded(std::vector<HostSlots> hosts,
                                                const std::vector<std::string>& excluded);

/// A host, or a range of them, per line: "name", "name slots=N max_slots=N" (Open MPI, also with
/// blanks at '=') or "name:N" (MPICH). A host with 0 slots is left out. Text after a '#' is a
/// comment. Lines end with \n or \r\n. Never empty, and at most kMaxRanks hosts. An error begins
/// with `file` and the number of the line.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& file);

}  // namespace paceline::launcher
