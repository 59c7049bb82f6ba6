// A reader of `nvidia-smi topo -m`, `rocm-smi --showtopo` and `amd-smi topology`.
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

/// An error names file, line and reason. Data that is odd but usable becomes a warning of the
/// model.
Result<HostModel> read_matrix(const NamedText& file);

}  // namespace paceline::topology
