// Whatever describes a machine, read by what it is, not by its name.
#pragma once

#include <string>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

/// A file, standard input for "-", or a folder that holds a gathered /sys tree. For a folder the
/// environment is changed meanwhile (hwloc_machine.h).
Result<HostModel> read_host(const std::string& path);
/// A file's text: hwloc's XML, NCCL's or RCCL's, a matrix, or what model_json_text() wrote. What is
/// something else is refused with a sentence that says what it is, as far as that can be seen.
Result<HostModel> read_host_text(const NamedText& file);

}  // namespace paceline::topology
