// Finds hosts and pairs whose packets are lost on the way. Pure.
//
// The share of a direction is segments sent again over segments sent (tcpi_total_retrans over
// tcpi_data_segs_out, tcp(7)). A queue that overflows loses packets on a healthy link, too, so a
// direction is lossy only if its share is high, a multiple of the share of most others, and fits
// the congestion window that TCP had (see kMostOfRandomLoss).
#pragma once

#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/judged_rates.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

struct PacketLoss {
  std::vector<Blame> blames;
  std::vector<Direction> explained;  ///< loss may be why these are slow
};

PacketLoss blame_packet_loss(const probe::Measurements& measured);

}  // namespace paceline::launcher
