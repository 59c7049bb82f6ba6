// What each rank that measures does, whatever its library.
#pragma once

#include <paceline/status.h>

#include "launcher/tools/measure/probe/loop/orders.h"
#include "launcher/tools/measure/probe/loop/subject.h"

namespace paceline::probe {

/// Collective. Measures every size that `orders` asks for; rank 0 writes a line each to standard
/// output (launcher/tools/measure/probe/loop/row.h) as it comes.
Status measure_all(Subject& subject, const Orders& orders);

}  // namespace paceline::probe
