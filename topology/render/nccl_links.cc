#include "topology/render/nccl_links.h"

#include <algorithm>

#include "topology/model/at.h"
#include "topology/model/nccl_words.h"

namespace paceline::topology {

int nccl_node_of(const HostModel& host, const Fact<Place>& near) {
  if (!near.is_known() || near->numa_nodes.empty()) return kNone;
  for (const int number : near->numa_nodes)
    for (const NumaNode& node : host.numa_nodes)
      if (node.number == number && node.kind == MemoryKind::kOrdinary) return number;
  return near->numa_nodes.front();
}

int nccl_node_of(const HostModel& host, const PciFunction& pci) {
  int at_top = pci.bridge;
  while (at_top != kNone && host.bridges[at(at_top)].parent != kNone)
    at_top = host.bridges[at(at_top)].parent;
  return at_top == kNone ? kNone : nccl_node_of(host, host.bridges[at(at_top)].near);
}

bool is_bare(const HostModel& whole) {
  return whole.bridges.empty() && std::ranges::none_of(whole.numa_nodes, [](const NumaNode& node) {
           return node.kind == MemoryKind::kOrdinary;
         });
}

bool has_nccl_room(const CpuSet& cpus) {
  constexpr std::size_t kMostLetters = 254;
  return cpu_mask_text(cpus).size() <= kMostLetters;
}

// NCCL takes NICs of one GUID for ports of one card, and of several for several cards.
std::optional<std::string> nccl_guid_of(const HostModel& host, const Nic& nic) {
  const auto card = [](const Nic& one) {
    BusId bus = one.pci.bus.value.value_or(BusId());
    bus.function = 0;
    return bus;
  };
  const bool is_alone_on_card = std::ranges::none_of(host.nics, [&](const Nic& other) {
    return &other != &nic && other.pci.bus.is_known() && nic.pci.bus.is_known() &&
           card(other) == card(nic);
  });
  if (!nic.guid.is_known() || !is_alone_on_card) return std::nullopt;
  return guid_for_nccl(*nic.guid);
}

NcclLinks::NcclLinks(const HostModel& whole)
    : host_(whole),
      are_packages_nodes_(are_packages_nodes()),
      has_elements_(whole.gpus.size(), true) {
  for (const GpuLink& link : host_.links) {
    if (!has_word(link) || count_of(link) != 0) continue;
    has_elements_[at(link.gpu)] = false;
    if (link.end == LinkEnd::kGpu) has_elements_[at(link.peer)] = false;
  }
}

// NCCL knows no packages. Readers take NUMA nodes for them on machines whose CPUs have NVLink.
bool NcclLinks::are_packages_nodes() const {
  if (host_.architecture != "aarch64" && host_.architecture != "ppc64le") return false;
  const std::vector<NumaNode> nodes = cpu_nodes(host_);
  return std::ranges::equal(host_.packages, nodes,
                            [](const Package& package, const NumaNode& node) {
                              return package.number == node.number && package.cpus == node.cpus &&
                                     has_nccl_room(node.cpus);
                            });
}

bool NcclLinks::has_word(const GpuLink& link) const {
  if (link.kind == LinkKind::kXe) return false;
  if (link.end != LinkEnd::kPackage) return true;
  return are_packages_nodes_ &&
         nccl_node_of(host_, host_.gpus[at(link.gpu)].pci) == host_.packages[at(link.peer)].number;
}

bool NcclLinks::is_written(const GpuLink& link) const {
  if (!has_word(link)) return false;
  return has_elements(link.gpu) || (link.end == LinkEnd::kGpu && has_elements(link.peer));
}

bool NcclLinks::has_packages() const {
  return std::ranges::any_of(host_.links, [&](const GpuLink& link) {
    return link.end == LinkEnd::kPackage && is_written(link);
  });
}

// hwloc states only the rate of all links together. One NVLink of generation 2 to 4 has 25 GB/s,
// and one of generation 1, of which no GPU has more than 4, has 20. RCCL takes each XGMI link that
// it is told of, whatever its count, so that one stands for a number that is not known.
std::uint64_t NcclLinks::count_of(const GpuLink& link) {
  if (link.count != 0) return static_cast<std::uint64_t>(link.count);
  if (link.kind != LinkKind::kNvlink) return 1;
  const std::uint64_t mb_per_s = link.mb_per_s.value.value_or(0);
  for (const std::uint64_t of_one : {25000U, 20000U})
    if (mb_per_s % of_one == 0) return mb_per_s / of_one;
  return 0;
}

bool NcclLinks::has_rate(const GpuLink& link) {
  return link.end == LinkEnd::kPackage && link.kind == LinkKind::kNvlink &&
         link.mb_per_s.is_known();
}

}  // namespace paceline::topology
