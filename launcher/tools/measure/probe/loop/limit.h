// What the machine allows an operation at best, from two things measured in the same run: how long
// a flag takes from one CPU to another, and how fast memory is copied.
#pragma once

#include <cstddef>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/loop/operation.h"
#include "launcher/tools/measure/probe/loop/shared_meeting.h"

namespace paceline::probe {

struct Machine {
  double flag_ns = 0;       ///< a cache line, one way
  double bytes_per_ns = 0;  ///< copied by all ranks that copy at once; of destination
};

/// A message of `bytes` needs ceil(log2 ranks) flags one after another, and every buffer that has
/// to be written is written once, at the rate of a copy. An estimate from below for buffers that
/// are not shared; an operation in place may come out better, since a copy also has to fetch the
/// lines that it writes. Nanoseconds. Pure.
double limit_ns(const Operation& operation, std::size_t bytes, int ranks, const Machine& machine);

/// Collective. Ranks 0 and 1 send a flag to and fro while the others sleep; half a round trip, of
/// many batches the fastest tenth. 0 where there is one rank. Once per meeting.
Result<double> measure_flag_ns(SharedMeeting& meeting, const Clock& clock);

}  // namespace paceline::probe
