// What each rank of `paceline check` does, one on a host.
#pragma once

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "launcher/tools/measure/probe/check/check_orders.h"
#include "launcher/tools/measure/probe/check/gpu_facts.h"

namespace paceline::probe {

/// Collective. Rank 0 writes the lines of measurements.h to standard output as they come. A way
/// between two hosts that does not work is among what is measured; an error means that the ranks
/// could not agree, as where one has gone.
Status run_check(Communicator& world, const CheckOrders& orders, GpuReader& gpus);

}  // namespace paceline::probe
