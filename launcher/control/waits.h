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
  /// Ranks that have not called it. With a message: its other end, if that can be told.
  std::vector<std::uint32_t> late;
  /// Ranks whose operation of the same number is another one, and its name.
  std::vector<std::pair<std::uint32_t, std::string>> different;
  /// Ranks of the communicator that have called nothing of it, so that it is not known which.
  std::size_t unknown = 0;
};

/// Agents report once a second, at different moments. So shorter waits mean nothing.
inline constexpr double kLongWaitSeconds = 2;

/// Those with the most waiting ranks first. `operation` of their longest waiting rank.
std::vector<Wait> find_waits(const job::v1::Snapshot& snapshot);

}  // namespace paceline::launcher
