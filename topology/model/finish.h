// The last step of every reader: puts a host model in order and checks it.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// Makes texts printable, sorts the lists, and removes bridges that lead to neither GPU nor NIC.
/// Derives missing facts: the CPUs of a place from its NUMA nodes, and the reverse. Data that is
/// odd but usable becomes a warning, with `source`. An error names a reference to something that
/// does not exist, or says that the host has neither CPU nor GPU nor NIC.
Result<HostModel> finish(HostModel host, SourceIndex source);

}  // namespace paceline::topology
