// Lists of hosts with ranges, as Slurm writes them: "node[01-04,7],gpu1". Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

/// Where the host that begins at `begin` ends: at the next comma outside of brackets, or with all.
std::size_t end_of_host(std::string_view text, std::size_t begin);

/// The names, in the order in which they stand there, which within a range is that of the numbers:
/// node2 comes before node10. At most kMaxRanks.
Result<std::vector<std::string>> expand_hosts(std::string_view text);

}  // namespace paceline::launcher
