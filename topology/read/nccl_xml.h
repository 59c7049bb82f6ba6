// A reader of topology XML of NCCL and RCCL (element <system>).
#pragma once

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {

/// An error names file, line and reason. Data that is odd but usable becomes a warning of the
/// model.
Result<HostModel> read_nccl_xml(const XmlDocument& document);

}  // namespace paceline::topology
