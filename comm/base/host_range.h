// Lists of hosts with ranges, as Slurm writes them: "node[01-04,7],gpu1". Pure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline {

inline constexpr std::size_t kMostHosts = 65536;        ///< of one list
inline constexpr std::size_t kMostHostNameBytes = 253;  ///< of a domain name, RFC 1035

/// Where the host that begins at `begin` ends: at the next comma outside of brackets, or with all.
std::size_t end_of_host(std::string_view text, std::size_t begin);

/// The names, in the order in which they stand there, which within a range is that of the numbers:
/// node2 comes before node10. At most kMostHosts; one with a range is no longer than
/// kMostHostNameBytes.
Result<std::vector<std::string>> expand_hosts(std::string_view text);

/// The other way round: neighbours in the list whose names count up are one piece, "node[01-04]".
/// Of a host's names expand_hosts() makes the same list again, piece by piece.
std::vector<std::string> host_ranges(std::span<const std::string> names);

}  // namespace paceline
