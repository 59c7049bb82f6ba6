// When the gradients of a trace become ready in a step, and the best that any schedule could make
// of it. Pure; times in microseconds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::probe {

/// A step's computing: forward, a third of it, then backward, tensor by tensor in reverse order.
struct Timeline {
  double forward_us = 0;
  std::vector<double> backward_us;  ///< by tensor: from the one before in backward to itself

  double compute_us() const;
  /// By tensor, since the step began.
  std::vector<double> ready_us() const;
};
Timeline timeline_of(const Trace& trace, double compute_us);

/// What a group of ranks has measured of its ways: an all-reduce of b bytes takes the latency and b
/// times 2(n-1)/n over the rate.
struct WireRate {
  double bytes_per_s = 0;  ///< of payload, each way of a rank
  double latency_us = 0;   ///< of the shortest operation

  bool operator==(const WireRate&) const = default;
};
/// What `bytes` of gradients take on the wire of each of `ranks`, without the latency.
double wire_us(std::size_t bytes, int ranks, const WireRate& rate);

/// From the end of backward to when the last gradient could have been reduced by the best of all
/// schedules: the most, over all gradients, of the moment at which it becomes ready plus what all
/// take that become ready then or later; less the end of backward. Once without what an operation
/// takes beside its bytes, and once with the latency of the last one, which no schedule avoids.
struct ExposedBound {
  double bytes_us = 0;
  double with_latency_us = 0;
};
ExposedBound least_exposed(const Trace& trace, const Timeline& timeline, int ranks,
                           const WireRate& rate);

}  // namespace paceline::probe
