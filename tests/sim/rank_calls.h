// One rank's part of a scenario: it makes its calls and notes how each ended. The same code runs
// simulated, as a thread and as a process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <paceline/communicator.h>

#include "comm/base/clock.h"
#include "tests/harness/tcp_world.h"
#include "tests/sim/outcome.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

/// What ranks of one world share to put begins and ends into one order.
using Order = std::atomic<std::uint64_t>;

/// Makes all calls, also those after an error, then close(). Inputs are small integers, so that
/// every result is exact in every type.
std::vector<CallOutcome> make_calls(Communicator& world, const std::vector<Call>& calls,
                                    const Clock& clock, Order& order);

/// The same without close(), for who goes on afterwards: `first` is the number of the first call in
/// its communicator.
std::vector<CallOutcome> make_round(Communicator& world, const std::vector<Call>& calls,
                                    std::size_t first, const Clock& clock);

inline CommunicatorOptions communicator_options(const Scenario& scenario) {
  return {.algorithm = scenario.algorithm,
          .segment_bytes = scenario.segment_bytes,
          .timeout = scenario.timeout};
}

}  // namespace paceline::testing
