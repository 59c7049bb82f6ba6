// A host as text, in the forms of `paceline topo --format`. Pure: a model to text, each in a file
// of its own.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// A tree for a terminal. No line is longer than `columns` (at least 40). Equal parts are shown
/// once ("8 cores, 2 threads each"). Warnings are at the end.
std::string tree_text(const HostModel& host, std::size_t columns);
/// Everything, with who said it; model_json of topology/read reads it back.
std::string model_json_text(const HostModel& host);
/// A graph in Graphviz's language.
std::string dot_text(const HostModel& host);
/// A drawing: boxes that do not overlap, in the order of the machine. SVG 1.1, no script, no font
/// but the viewer's.
std::string svg_text(const HostModel& host);
/// A file for NCCL_TOPO_FILE, by the rules of its reader (nccl, src/graph/xml.cc).
std::string nccl_xml_text(const HostModel& host);
/// hwloc's XML of version 2.
std::string hwloc_xml_text(const HostModel& host);
/// What a form cannot state of a host. Reading the form again loses these fields and no others.
struct LeftOut {
  std::vector<std::string> fields;  ///< keys of the JSON form: "nics.port"; "caches" for all of it
  std::vector<std::string> sentences;  ///< for people
};
LeftOut left_out_of_nccl_xml(const HostModel& host);
LeftOut left_out_of_hwloc_xml(const HostModel& host);
/// As `nvidia-smi topo -m` prints it, legend included.
std::string matrix_text(const HostModel& host);

}  // namespace paceline::topology
