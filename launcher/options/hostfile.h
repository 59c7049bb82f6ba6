// The hosts that a user names, on the command line or in a file. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// "a:4,b": names and addresses set apart by commas, each with its slots where they are stated.
/// Never empty.
Result<std::vector<HostSlots>> parse_host_list(std::string_view text);

/// A host per line: "name", "name slots=N" or "name:N"; what follows a '#' is a comment. Lines end
/// with \n or \r\n. Never empty. An error begins with `file` and the number of the line.
Result<std::vector<HostSlots>> parse_hostfile(std::string_view text, const std::string& file);

/// Whether `ranks` ranks may run on `hosts`, all of which must be names of this one. Slots bind
/// only where each of the hosts has some stated; the same host named twice has those of both.
Status check_hosts(std::span<const HostSlots> hosts, int ranks,
                   std::span<const std::string> names_of_this_host);

}  // namespace paceline::launcher
