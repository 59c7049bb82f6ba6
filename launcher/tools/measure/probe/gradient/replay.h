// What a rank of `paceline bench gradient` does: steps of a trainer without its arithmetic.
#pragma once

#include <paceline/status.h>

#include "launcher/tools/measure/probe/gradient/gradient_orders.h"

namespace paceline::probe {

/// Collective, but for the task kShow. Rank 0 writes the lines of gradient_rows.h to standard
/// output.
Status run_gradient(const GradientOrders& orders);

}  // namespace paceline::probe
