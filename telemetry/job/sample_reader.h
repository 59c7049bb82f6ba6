// Chooses which samples of a rank's operations are new, and how many to pass on. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "telemetry/flight_ring.h"
#include "telemetry/job/job_account.h"

namespace paceline {

/// Of one rank. Levels that have lost samples since the last call are left out with all below them,
/// so that the others stand for all operations. Ranks with equal calls and limits choose alike,
/// whenever they are asked.
class SampleReader {
 public:
  /// At most `most` samples.
  RankSamples take(const GroupOperations& group, std::size_t most);

 private:
  struct Known {
    std::array<std::uint64_t, OperationBook::kLevels> next{};  // the first that is new, by level
  };

  std::map<std::string, Known> known_;
};

}  // namespace paceline
