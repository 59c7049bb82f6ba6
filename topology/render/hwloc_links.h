// The part of hwloc's XML that is about links between GPUs, and to CPUs: matrices of bandwidths.
#pragma once

#include <string>
#include <vector>

#include <pugixml.hpp>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// What objects are called in matrices: their gp_index. Empty where there is none.
struct HwlocNumbers {
  std::vector<std::string> of_gpus, of_packages;  ///< by places in the model
};

/// A matrix for each kind of links that has ends which hwloc has objects for; link switches are
/// none. The number of links side by side has no place in it.
void add_hwloc_links(const HostModel& host, const HwlocNumbers& numbers, pugi::xml_node topology);

}  // namespace paceline::topology
