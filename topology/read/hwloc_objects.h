// The objects of hwloc's XML, whatever its version.
//
// A list in the file's order: a parent stands before its children, and what is below an object
// follows it without a gap.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/cpu_set.h"
#include "topology/model/bus_id.h"
#include "topology/model/host_model.h"
#include "topology/read/xml_document.h"

namespace paceline::topology {

enum class HwlocType : std::uint8_t {
  kOther,  ///< unknown, or of no interest: what is below it counts
  kMachine,
  kPackage,
  kNumaNode,
  kCache,  ///< of data; one before memory or of instructions is kOther
  kCore,
  kPu,
  kHostBridge,
  kPciBridge,
  kPciDevice,
  kOsDevice,
};

/// The bits of osdev_type in version 3; the numbers of older versions are turned into them.
enum HwlocOsKind : std::uint32_t {
  kOsNetwork = 16,
  kOsFabric = 32,
};

/// Of kPciBridge and kPciDevice.
struct HwlocPci {
  BusId bus;
  std::uint16_t kind = 0;  ///< PCI class and subclass
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;
  std::uint64_t mb_per_s = 0;  ///< 0: unknown
};

struct HwlocObject {
  HwlocType type = HwlocType::kOther;
  pugi::xml_node node;
  int parent = kNone;                   ///< in HwlocTree::objects
  int end = 0;                          ///< behind the last that is below it
  std::optional<std::uint64_t> number;  ///< the kernel's
  std::optional<CpuSet> cpus;           ///< I/O objects have none
  int cache_depth = 0;
  std::uint32_t os_kinds = 0;
  HwlocPci pci;

  std::string_view name() const { return text_of(node, "name"); }
  std::string_view subtype() const { return text_of(node, "subtype"); }
};

/// Lives no longer than the document.
struct HwlocTree {
  const XmlDocument& document;
  int version = 0;
  CpuSet cpus;  ///< that exist, usable or not
  std::vector<HwlocObject> objects;

  const HwlocObject& at(int place) const { return objects[static_cast<std::size_t>(place)]; }
  int size() const { return static_cast<int>(objects.size()); }
};

/// An error names file, line and reason.
Result<HwlocTree> read_hwloc_objects(const XmlDocument& document);

/// The value of an <info> directly below `node`, without blanks at its ends; empty where there is
/// none.
std::string info_of(pugi::xml_node node, std::string_view name);

/// A mask in an attribute; nothing where it is missing. An endless one ends with `all`.
Result<std::optional<CpuSet>> mask_of(const XmlDocument& document, pugi::xml_node node,
                                      const char* attribute, const CpuSet& all);

}  // namespace paceline::topology
