#include "launcher/tools/measure/probe/gradient/site.h"

#include <span>
#include <vector>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/gradient/stand_in.h"
#include "launcher/tools/measure/probe/gradient/wire_meter.h"

namespace paceline::probe {
namespace {

constexpr int kTimes = 3;

Result<double> measure_burning(Communicator& world, const Clock& clock) {
  std::vector<double> rate{0};
  for (int turn = 0; turn < world.size(); ++turn) {
    if (turn == world.rank()) rate[0] = calibrate_burning(clock);
    PACELINE_TRY(world.barrier());
  }
  PACELINE_TRY(world.all_reduce(std::span(rate), ReduceOp::kMax));
  return rate[0];
}

}  // namespace

Result<SiteRow> measure_site(Communicator& world, const Clock& clock) {
  SiteRow site;
  PACELINE_TRY_ASSIGN(WireMeter meter, WireMeter::make(world, clock));
  PACELINE_TRY_ASSIGN(site.wire, meter.measure(kTimes));
  PACELINE_TRY_ASSIGN(site.burn_per_us, measure_burning(world, clock));
  return site;
}

}  // namespace paceline::probe
