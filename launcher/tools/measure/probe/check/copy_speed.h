// How fast one thread copies memory: a host whose memory modules are slow or missing shows here.
#pragma once

#include "comm/base/clock.h"

namespace paceline::probe {

/// Bytes per second of the fastest of the copies of 64 MiB that fit into `time`, at least two.
/// Every byte that is copied counts once. 0 where there is no memory for it.
double copy_speed(const Clock& clock, Duration time);

}  // namespace paceline::probe
