// All-reduce among growing groups of hosts: how fast what jobs do most is, between these hosts.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/connectivity/measurements.h"

namespace paceline::probe {

/// 2, 4, 8, …, and all of them.
std::vector<int> growing_groups(int hosts);

/// Bytes of float32, the longest such that an operation takes about `time` where flows go at
/// `bits_per_s`. Pure.
std::vector<std::size_t> reduction_sizes(double bits_per_s, Duration time);

struct ReductionOrder {
  std::size_t bytes = 0;
  Duration time{};
  std::string device;  ///< whose bytes are counted; empty: none
};

/// Collective. Every rank gets the same result: the longest time of any, the sum of wrong elements,
/// the busiest device.
Result<Reduction> measure_reduction(Communicator& group, const ReductionOrder& order,
                                    const Clock& clock);

}  // namespace paceline::probe
