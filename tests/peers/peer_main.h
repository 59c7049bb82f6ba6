// What the programs of all peers have in common: the orders, the loop, and the end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "launcher/tools/measure/probe/loop/orders.h"

namespace paceline::peers {

/// Parses the orders, hands them to `measure` and says what went wrong. The exit code of main().
/// The process is killed when the one that started it ends, however it ends.
int peer_main(int argc, char** argv, FunctionRef<Status(const probe::Orders&)> measure);

}  // namespace paceline::peers
