// How fast the wire between ranks is, by all-reduces of long arrays: measured before the steps, and
// again in turn with those who send over it.
#pragma once

#include <cstddef>

#include <paceline/buffer.h>
#include <paceline/communicator.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/gradient/timeline.h"

namespace paceline::probe {

/// Collective, as all it does; what it says is the same on all ranks.
class WireMeter {
 public:
  /// Arrays of 64 MiB, or of fewer bytes where these would take long.
  static Result<WireMeter> make(Communicator& world, const Clock& clock);

  /// The quickest of so many all-reduces.
  Result<WireRate> measure(int times);

 private:
  WireMeter(Communicator& world, const Clock& clock, Buffer buffer);
  Result<double> time_us(std::size_t count, std::size_t piece);
  Result<double> best_time_us(int times);
  Result<double> latency_us();

  Communicator& world_;
  const Clock& clock_;
  Buffer buffer_;
  std::size_t count_ = 0;  // elements
};

}  // namespace paceline::probe
