// Members of a group, as errors name them.
#pragma once

#include <cstddef>
#include <string>

#include <paceline/group.h>
#include <paceline/status.h>

namespace paceline {

inline const std::string& host_of(const Group& group, int rank) {
  return group.members[static_cast<std::size_t>(rank)].host;
}

/// "rank 3 on node7"
inline std::string name_of(const Group& group, int rank) {
  return "rank " + std::to_string(rank) + " on " + host_of(group, rank);
}

inline Culprit culprit_of(const Group& group, int rank) {
  return {.rank = rank, .host = host_of(group, rank)};
}

}  // namespace paceline
