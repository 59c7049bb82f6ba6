// The hosts of a job, and the number of ranks on each. Pure.
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
  /// The ranks of each program, if programs have hosts of their own. `slots` equals `ranks` then.
  std::vector<int> by_program{};

  bool operator==(const HostShare&) const = default;
};

/// Each host once, in the order in which they are first named. A host that is named twice has the
/// slots of both, or no stated slots if one of them has none.
std::vector<HostSlots> merged_hosts(std::span<const HostSlots> hosts);

/// The rules that decide which hosts get ranks.
struct ShareRules {
  int ranks = 1;
  int max_per_host = 0;  ///< 0: no bound
  topology::MappingRules mapping{};
  bool considers_all = false;  ///< cost chooses among all hosts, and not among those filled first
};

/// The rules of a job. All hosts are considered if the user has given input for the cost (--groups,
/// --measured), or if the hosts are only described.
ShareRules share_rules_of(const JobSpec& job);

/// Hosts have the order in which they are first named, and the sum of the slots of all their
/// mentions. Hosts with stated slots are filled in that order. The remaining ranks go evenly to
/// hosts without stated slots; the first of these get one more. A mapping by nodes (node,
/// ppr:N:node) has its own counts, over all hosts. No host gets more than rules.max_per_host.
///
/// The result has each host that gets ranks, and no other. If the counts depend on the machines
/// (ppr:N:numa, core:SPAN, rules.considers_all), it has each host that may get ranks.
///
/// With rules.mapping.may_oversubscribe, hosts get additional ranks if there are too few slots:
/// evenly, the first hosts one more. Errors: ranks that do not fit, with the numbers. `hosts` is
/// not empty.
Result<std::vector<HostShare>> share_ranks(std::span<const HostSlots> hosts,
                                           const ShareRules& rules);

/// The shares of a job with these hosts. If programs have hosts of their own, each program is
/// shared over its own hosts, and the others, one after the other, over `hosts`. Errors: as
/// share_ranks(), and options that place all ranks together, which exclude hosts of a program's
/// own.
Result<std::vector<HostShare>> share_job(const JobSpec& job, std::span<const HostSlots> hosts);

}  // namespace paceline::launcher
