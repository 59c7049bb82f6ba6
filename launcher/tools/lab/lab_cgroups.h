// The control groups of a lab's hosts, in which all their processes are: to freeze them at one
// stroke, and to give them less of the CPUs. See cgroups(7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// Where the lab `name` that the process `maker` makes may have groups of its own: the hierarchy of
/// version 2, and that of version 1 which has the controller cpu. Nothing is made yet.
std::vector<std::string> plan_lab_cgroups(const std::string& name, pid_t maker);

/// Makes each of `folders` with one for each host in it. Returns those that this user may make.
std::vector<std::string> make_lab_cgroups(const std::vector<std::string>& folders, int hosts);

/// To be written "0" to by what is to be in all groups of a host.
std::vector<UniqueFd> open_host_cgroups(const std::vector<std::string>& folders, int host);
Status join_cgroups(const std::vector<UniqueFd>& groups);

/// Whether the host's processes can be frozen by a group, and are.
bool can_freeze(const std::vector<std::string>& folders);
bool is_frozen(const std::vector<std::string>& folders, int host);
/// Waits until all of them stand, or go on.
Status freeze(const std::vector<std::string>& folders, int host, bool frozen, const Clock& clock);

/// In thousandths of a CPU; none: as many as there are.
Status limit_cpus(const std::vector<std::string>& folders, int host,
                  std::optional<int> thousandths);

/// True when they are gone. Waits a moment for processes that are being killed.
bool remove_lab_cgroups(const std::vector<std::string>& folders, const Clock& clock);

}  // namespace paceline::launcher
