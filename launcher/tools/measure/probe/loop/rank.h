// The program of each measuring rank, for any library.
#pragma once

#include <paceline/status.h>

#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

/// Collective. Measures every size in `orders`. Rank 0 writes a line for each to standard output at
/// once (launcher/tools/measure/probe/loop/row.h).
Status measure_all(Subject& subject, const Orders& orders);

}  // namespace paceline::probe
