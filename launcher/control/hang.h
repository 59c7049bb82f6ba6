// Why ranks wait in operations: for which ranks, and what these do instead.
//
//   operations of all ranks -> waits: who is in an operation, who has not called it
//                           -> a wait whose late ranks wait in another one is its consequence
//                           -> sentences, causes before consequences
//
// A communicator's collective operations have numbers, so a rank that has begun fewer of them is
// late. Agents say all of this once a second: waits shorter than 2 s are not judged. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

struct Hang {
  /// Sentences without a newline, the cause first. Empty: no rank waits for long, and no operation
  /// has failed because ranks called different ones, and somebody reads the job's output.
  std::vector<std::string> lines;
  /// Ranks whose stacks say more. They are the late ranks, or else ranks that wait.
  std::vector<std::uint32_t> suspects;
};

/// As DescribeRequest.stacks_of allows.
inline constexpr std::size_t kMaxSuspects = 16;

/// With `Rank.processes` of the suspects, if they are there, the sentences also say what these do.
Hang explain_hang(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
