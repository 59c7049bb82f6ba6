// Who is to blame for ways between hosts on which a measurement failed. Pure.
#pragma once

#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

/// Each way of the record that broke is explained by one of these, in this order:
///
///   host unreachable    several ways to the host broke, and nothing that it sends was measured
///   stopped answering   several ways to the host broke, and one at least worked when it was tried
///                       again: the host, or its link, was away for a while
///   pair broken         the way did not work when it was tried again, or was not tried
///   pair interrupted    the way worked when it was tried again
///
/// `rates` are those of single flows.
std::vector<Blame> blame_broken_ways(const probe::Measurements& measured, const RateTable& rates);

}  // namespace paceline::launcher
