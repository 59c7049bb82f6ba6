// On which hosts a job's ranks may run, and how many on each. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::launcher {

struct HostShare {
  std::string host;
  int ranks = 0;  ///< at least one; where only the machine tells: how many it may get at most
  int slots = 0;  ///< how many it may have at most: as stated; else as many as it has

  bool operator==(const HostShare&) const = default;
};

/// What decides which hosts get ranks.
struct ShareRules {
  int ranks = 1;
  int max_per_host = 0;  ///< 0: no bound
  topology::MappingRules mapping{};
  bool considers_all = false;  ///< cost chooses among all hosts, and not among those filled first
};

/// The rules of a job. Cost considers all hosts where the user has said what it depends on
/// (--groups, --measured), or where hosts are only described.
ShareRules share_rules_of(const JobSpec& job);

/// Hosts in the order in which they are first named, each with the slots of all its mentions. Those
/// with stated slots are filled in that order; the remaining ranks go evenly, the first hosts get
/// one more, to those without. A mapping that goes by nodes (node, ppr:N:node) has its own counts,
/// over all hosts. No host gets more than rules.max_per_host.
///
/// The result has each host that gets ranks, and no other. Where the machines decide (ppr:N:numa,
/// core:SPAN, rules.considers_all), it has each host that may get some.
///
/// With rules.mapping.may_oversubscribe, hosts with too few slots get more: evenly, the first hosts
/// one more. Errors: ranks that do not fit, with the numbers. `hosts` is not empty.
Result<std::vector<HostShare>> share_ranks(std::span<const HostSlots> hosts,
                                           const ShareRules& rules);

}  // namespace paceline::launcher
