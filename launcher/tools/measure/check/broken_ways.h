// Finds the cause of failed measurements between hosts. Pure.
#pragma once

#include <span>
#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

/// Each broken link of the record is explained by one of these, in this order:
///
///   stopped answering   the host noticed itself that it did not run
///   host unreachable    several links to the host broke, and nothing that it sends was measured
///   stopped answering   several links to the host broke, and at least one worked when it was tried
///                       again: the host, or its link, was away for a while
///   network interrupted like the case before, but several hosts have as many of these links
///   pair broken         the link did not work when it was tried again, or was not tried
///   pair interrupted    the link worked when it was tried again
///
/// If nothing else explains an all-reduce that hung for a while, the network is blamed. `rates` are
/// those of single flows. `losses` explain why an all-reduce hung, and why a link that worked later
/// was silent: TCP doubles its pause with each packet in turn that is lost.
std::vector<Blame> blame_broken_ways(const probe::Measurements& measured, const RateTable& rates,
                                     std::span<const Blame> losses);

}  // namespace paceline::launcher
