// The NICs in topology XML of NCCL and RCCL: <pci> with <nic> and <net>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include <paceline/status.h>

#include "topology/model/host_model.h"
#include "topology/read/warning_list.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {

inline constexpr std::uint64_t kMostNcclNumber = 65535;  ///< of a NUMA node or a PCI ID

/// 0 where it is missing or empty, as NCCL leaves it where it could not read sysfs.
Result<std::uint64_t> bounded_number(const XmlDocument& document, pugi::xml_node node,
                                     const char* attribute);

/// Adds NICs to a host. Borrows its arguments. An error names file, line and reason.
class NcclNics {
 public:
  NcclNics(const XmlDocument& document, HostModel& host, WarningList& warnings)
      : document_(document), host_(host), warnings_(warnings) {}

  Status add(pugi::xml_node pci, const PciFunction& function, bool is_infiniband);
  /// NCCL gathers in one <nic> all that have no PCI address. One that occurs below several CPUs is
  /// near none of them: NCCL puts it below the first CPU that it reads.
  Status add_without_pci(pugi::xml_node nic, int bridge);
  /// NCCL writes the GUID of the card; it is the NIC's own where the card has one alone.
  void keep_guids();

 private:
  Status add(pugi::xml_node element, Nic nic);
  Status take_net(Nic& nic, pugi::xml_node net);

  const XmlDocument& document_;
  HostModel& host_;
  WarningList& warnings_;
  std::map<std::string, std::size_t> nets_;  // without a PCI address: their place, by name
  std::map<std::string, int> guids_;         // how many NICs have each
};

}  // namespace paceline::topology
