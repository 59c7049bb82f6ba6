// What the agent knows of a rank that has ended.
#pragma once

#include "launcher/agent/flight_book.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// What the helper saw, and what the rank's flight ring says.
messages::RankExited rank_report(const messages::ProcessExited& exited, const FlightBook& flights);

}  // namespace paceline::launcher
