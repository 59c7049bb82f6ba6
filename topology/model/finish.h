// What every reader does last: order, and what cannot be so.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Makes texts printable, puts the lists in their order, leaves out bridges that lead to neither
/// GPU nor NIC, and fills in what follows from the rest (the CPUs of a place from its NUMA nodes
/// and the other way round). What is odd but usable becomes a warning, of `source`. An error says
/// which reference leads nowhere, or that there is no CPU, no GPU and no NIC at all.
Result<HostModel> finish(HostModel host, SourceIndex source);

}  // namespace paceline::topology
