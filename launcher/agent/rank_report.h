// The agent's report of a rank that has ended.
#pragma once

#include "launcher/agent/flight_book.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// Combines what the spawn helper saw with the contents of the rank's flight ring.
messages::RankExited rank_report(const messages::ProcessExited& exited, const FlightBook& flights);

}  // namespace paceline::launcher
