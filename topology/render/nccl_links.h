// What NCCL's XML can state of a host: its writer and the list of what it leaves out share it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// The NUMA node of the <cpu> for what is near `near`: the first node with ordinary memory. kNone
/// if it is not known.
int nccl_node_of(const HostModel& host, const Fact<Place>& near);
/// That of a device: NCCL places it where its host bridge is.
int nccl_node_of(const HostModel& host, const PciFunction& pci);

/// A host that has CPUs, and neither NUMA nodes nor devices: all CPUs are those of one <cpu>.
bool is_bare(const HostModel& whole);
/// The GUID of a NIC, if NCCL may know it.
std::optional<std::string> nccl_guid_of(const HostModel& host, const Nic& nic);
/// Has NCCL's reader room for the mask? It takes 254 letters of an attribute.
bool has_nccl_room(const CpuSet& cpus);

/// The links of a host. All its devices are below bridges (implied_tree.h). Borrows the host.
class NcclLinks {
 public:
  explicit NcclLinks(const HostModel& whole);

  /// Are the links of this GPU written? NCCL asks the driver if no link is.
  bool has_elements(int gpu) const { return has_elements_[static_cast<std::size_t>(gpu)]; }
  /// Has NCCL a word for a link of this kind between these ends?
  bool has_word(const GpuLink& link) const;
  bool is_written(const GpuLink& link) const;
  /// Are there packages in the file, as ends of links?
  bool has_packages() const;

  /// As stated, or as its rate implies; 0: not known.
  static std::uint64_t count_of(const GpuLink& link);
  /// Is the rate of all links together in the file?
  static bool has_rate(const GpuLink& link);

 private:
  bool are_packages_nodes() const;

  const HostModel& host_;
  bool are_packages_nodes_ = false;
  std::vector<bool> has_elements_;
};

}  // namespace paceline::topology
