// Chooses which samples of a rank's operations are new, and how many to pass on. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "telemetry/flight_ring.h"
#include "telemetry/job/job_account.h"

namespace paceline {

/// Of one rank. Levels that have lost samples since the last call are left out with all below them,
/// so that the others stand for all operations. The lowest level rises at once and falls only after
/// some calls, so that ranks with equal calls mostly have the same one.
class SampleReader {
 public:
  /// Forgets groups that are not among these.
  void keep_only(std::span<const GroupOperations> groups);
  /// At most `most` samples.
  RankSamples take(const GroupOperations& group, std::size_t most);

 private:
  struct Known {
    std::array<std::uint64_t, OperationBook::kLevels> next{};  // the first that is new, by level
    std::array<std::size_t, 4> lowest{};                       // levels of the last calls
    std::size_t calls = 0;
  };

  std::map<std::uint64_t, Known> known_;  // by the id of the group
};

}  // namespace paceline
