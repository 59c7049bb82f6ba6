#include "topology/read/hwloc_xml.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>
#include <vector>

#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/read/hwloc_cpus.h"
#include "topology/read/hwloc_gpus.h"
#include "topology/read/hwloc_links.h"
#include "topology/read/hwloc_memory.h"
#include "topology/read/hwloc_nics.h"
#include "topology/read/hwloc_objects.h"
#include "topology/read/hwloc_pci.h"

namespace paceline::topology {
namespace {

// Bridges are shared, so both kinds of devices are looked at together.
void add_pci(const HwlocTree& tree, const std::vector<int>& gpus, const std::vector<int>& nics,
             HostModel& host) {
  std::vector<int> all = gpus;
  all.insert(all.end(), nics.begin(), nics.end());
  const std::vector<PciFunction> functions = add_hwloc_bridges(tree, all, host);
  for (std::size_t i = 0; i < gpus.size(); ++i) host.gpus[i].pci = functions[i];
  for (std::size_t i = 0; i < nics.size(); ++i) host.nics[i].pci = functions[gpus.size() + i];
}

std::vector<int> without(const std::vector<int>& sorted, const std::vector<int>& others) {
  std::vector<int> left;
  std::ranges::set_difference(sorted, others, std::back_inserter(left));
  return left;
}

}  // namespace

Result<HostModel> read_hwloc_xml(const XmlDocument& document) {
  PACELINE_TRY_ASSIGN(const HwlocTree tree, read_hwloc_objects(document));
  HostModel host{.sources = {"hwloc XML " + document.name()}};
  const std::vector<int> found = find_hwloc_gpus(tree);
  const std::vector<int> nics = without(find_hwloc_nics(tree), found);
  PACELINE_TRY(add_hwloc_cpus(tree, host));
  PACELINE_TRY(add_hwloc_memory(tree, host));
  PACELINE_TRY_ASSIGN(const std::vector<int> gpus, add_hwloc_gpus(tree, found, host));
  PACELINE_TRY(add_hwloc_nics(tree, nics, host));
  add_pci(tree, gpus, nics, host);
  PACELINE_TRY(add_hwloc_links(tree, gpus, host));
  Result<HostModel> finished = finish(std::move(host), 0);
  if (!finished.ok()) return unreadable(document.name(), 0, finished.status().text());
  return finished;
}

}  // namespace paceline::topology
