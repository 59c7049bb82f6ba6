// Who is to blame for ways between hosts on which a measurement failed. Pure.
#pragma once

#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

/// Each way of the record that broke is explained by one of these, in this order:
///
///   stopped answering   the host noticed itself that it did not run
///   host unreachable    several ways to the host broke, and nothing that it sends was measured
///   stopped answering   several ways to the host broke, and one at least worked when it was tried
///                       again: the host, or its link, was away for a while
///   network interrupted the same, but no single host has most of these ways
///   pair broken         the way did not work when it was tried again, or was not tried
///   pair interrupted    the way worked when it was tried again
///
/// An all-reduce that hung for a while is the network's fault where nothing else explains it.
/// `rates` are those of single flows.
std::vector<Blame> blame_broken_ways(const probe::Measurements& measured, const RateTable& rates);

}  // namespace paceline::launcher
