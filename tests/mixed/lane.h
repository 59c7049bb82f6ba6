// One rank's part of a lane: it does the acts, and checks every result.
#pragma once

#include <cstdint>
#include <functional>

#include <paceline/status.h>

#include "tests/mixed/port.h"

namespace paceline::testing::mixed {

struct LaneOptions {
  std::uint64_t seed = 1;  ///< of the acts: the same on all ranks
  std::uint64_t acts = 100;
  bool may_split = false;
  /// What this rank does before an act; may be empty. False: this rank leaves the lane there.
  std::function<bool(Port& port, std::uint64_t act)> before{};
};

/// Does all acts, then closes the port. Adds the operations that have ended well to `operations`. A
/// wrong result is Code::kInternal; another error is the library's, and every later call has
/// returned the same. Both name the act.
Status run_lane(Port& port, const LaneOptions& options, std::uint64_t& operations);

}  // namespace paceline::testing::mixed
