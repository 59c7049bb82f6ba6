// One connection, as much as it carries, for a while: one way, or both at once.
#pragma once

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/connectivity/measurements.h"

namespace paceline::probe {

struct FlowOrder {
  UniqueFd send_to;       ///< a connection; none: nothing is sent
  UniqueFd receive_from;  ///< a connection; none: nothing is received
  Duration time{};        ///< from the first bytes that are received
};

struct FlowResult {
  double bits_per_s = 0;   ///< received
  double segments = 0;     ///< sent, with data
  double retransmits = 0;  ///< of these, sent again
  double window = 0;       ///< congestion window in segments, on average
  CpuUse cpu;
};

/// Bytes and segments before `time` is half over are not counted: a connection has to find out how
/// fast it may be, and overruns queues meanwhile. Who receives ends it, by closing the connection;
/// who sends goes on until then. An error where a connection breaks, or nothing moves for
/// kFlowStall.
Result<FlowResult> run_flow(FlowOrder order, const Clock& clock);

inline constexpr Duration kFlowStall = std::chrono::seconds(3);

/// To and fro, an empty message at a time, for as long as `time`, from 20 times to 5000.
/// `leads`: this end asks, and gets the result.
struct PingResult {
  double best_us = 0;  ///< half a round trip
  double median_us = 0;
  double clock_offset_us = 0;
};
Result<PingResult> run_pings(int fd, bool leads, Duration time, const Clock& clock,
                             const WallClock& wall_clock);

}  // namespace paceline::probe
