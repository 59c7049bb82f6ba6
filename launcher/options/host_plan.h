// How many ranks run on which host. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

struct HostShare {
  std::string host;
  int ranks = 0;  ///< at least one
  int slots = 0;  ///< how many it may have at most: as stated; else as many as it has

  bool operator==(const HostShare&) const = default;
};

/// Hosts in the order in which they are first named, each with the slots of all its mentions. Those
/// with stated slots are filled in that order; what is left over goes evenly, the first ones get
/// one more, to those without. No host gets more than `most_a_host` (0: no bound). A host without a
/// rank is left out. An error where the ranks do not fit, which names the numbers. `hosts` is not
/// empty.
Result<std::vector<HostShare>> share_ranks(std::span<const HostSlots> hosts, int ranks,
                                           int most_a_host);

}  // namespace paceline::launcher
