// Members of a group, as errors name them.
#pragma once

#include <cstddef>
#include <string>

#include <paceline/group.h>
#include <paceline/status.h>

#include "comm/base/signature.h"

namespace paceline {

inline const std::string& host_of(const Group& group, int rank) {
  return group.members[static_cast<std::size_t>(rank)].host;
}

/// "rank 3 on node7"
inline std::string rank_text(const Group& group, int rank) {
  return "rank " + std::to_string(rank) + " on " + host_of(group, rank);
}

/// "all_reduce(4 x float32, sum) #12 of split #3, color 0". Without a name, the world's operation.
inline std::string operation_of(const std::string& group_name, const Signature& signature) {
  return signature.to_string() + (group_name.empty() ? "" : " of " + group_name);
}

inline Culprit culprit_of(const Group& group, int rank) {
  return {.rank = rank, .host = host_of(group, rank)};
}

/// An error that this rank has found at itself: names it, and its culprit unless there is one.
inline Status error_of_this_rank(const Group& group, const Status& how) {
  const Status named = how.with_context(rank_text(group, group.rank));
  return named.culprit().rank >= 0 ? named : named.with_culprit(culprit_of(group, group.rank));
}

}  // namespace paceline
