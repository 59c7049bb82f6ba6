// The links past PCIe in topology XML of NCCL and RCCL: <nvlink>, <xgmi> and <c2c> of a <gpu>.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/warning_list.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {

struct GpuElement {
  pugi::xml_node gpu;  ///< none where the file has none
  int node = kNone;    ///< the number of the NUMA node that it is below of
};

/// Adds the links of host.gpus, whose elements are `elements` in the same order, and the packages
/// that links lead to. An error names file, line and reason.
Status read_nccl_links(const XmlDocument& document, const std::vector<GpuElement>& elements,
                       HostModel& host, WarningList& warnings);

}  // namespace paceline::topology
