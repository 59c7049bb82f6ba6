// What a replay has to know of its ranks and their ways before the first step.
#pragma once

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/gradient/gradient_rows.h"

namespace paceline::probe {

/// Collective; the same on all ranks. Cores are calibrated one after the other, while the other
/// ranks wait.
Result<SiteRow> measure_site(Communicator& world, const Clock& clock);

}  // namespace paceline::probe
