// A reader of hwloc's XML of versions 1, 2 and 3 (element <topology>).
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {

/// An error names file, line and reason. Data that is odd but usable becomes a warning of the
/// model.
Result<HostModel> read_hwloc_xml(const XmlDocument& document);

}  // namespace paceline::topology
