// What two hosts find out about the way between them, each from its own end.
#pragma once

#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/check/check_orders.h"
#include "launcher/tools/measure/probe/check/link.h"
#include "launcher/tools/measure/probe/check/schedule.h"

namespace paceline::probe {

/// Everything is borrowed.
struct PairSite {
  int rank = 0;
  const std::vector<std::string>& addresses;  ///< of everybody's door, by rank
  LinkDoor& door;
  const JobKey& key;
  const CheckOrders& orders;
  const Clock& clock;
  const WallClock& wall_clock;
};

/// Both ends call it at about the same time: latency, then a flow each way, then both at once where
/// that is ordered. Returns this end's lines (measurements.h); what fails is among them. It ends
/// within some seconds whatever the other end does.
std::vector<std::string> measure_pair(const PairSite& site, int round, const Pair& pair);

}  // namespace paceline::probe
