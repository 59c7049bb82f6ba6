// A scenario as one line, to be printed where it fails and given back on a command line. It holds
// no quote, so that '…' makes it one word of a shell.
//
//   ranks=3 seed=7 segment_bytes=256 timeout_ms=5000 delay_us=5..500 loss_us=1000 synchronous=50
//   call=all_reduce,100,float32,sum,asynchronous call=broadcast,7,int64,2 call=barrier
//   lose=1@120 cut=0.2@300+1500 deviate=1@0:skip deviate=0.2@1:replace=barrier
#pragma once

#include <string>
#include <string_view>

#include <paceline/status.h>

#include "tests/sim/scenario.h"

namespace paceline::testing {

std::string to_text(const Scenario& scenario);

/// Keys that are not there keep their defaults. An error names the word that is wrong.
Result<Scenario> parse_scenario(std::string_view text);

}  // namespace paceline::testing
