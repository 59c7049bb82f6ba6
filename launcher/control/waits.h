// In which operations ranks wait, and for which ranks. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "launcher/proto/job_v1.pb.h"

namespace paceline::launcher {

/// An operation in which ranks wait, or that has failed because ranks called different ones.
struct Wait {
  job::v1::Operation operation;        ///< as the longest waiting rank has it
  std::vector<std::uint32_t> waiting;  ///< ranks in it
  std::vector<std::uint32_t> failed;   ///< ranks on which it has failed
  /// Ranks that have not called it. With a message: its other end, unless that waits in it too.
  std::vector<std::uint32_t> late;
  /// Ranks whose operation of the same number is another one, and its name. Without a majority: all
  /// ranks that have called one.
  std::vector<std::pair<std::uint32_t, std::string>> different;
  bool has_majority = true;  ///< more than half of the ranks have called the same operation
  std::size_t unknown = 0;   ///< ranks of the communicator whose calls are not known
};

/// Agents report once a second, at different moments. So shorter waits mean nothing.
inline constexpr double kLongWaitSeconds = 2;

/// Those with the most waiting ranks first.
std::vector<Wait> find_waits(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
