#include "topology/read/hwloc_objects.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/hwloc_words.h"
#include "topology/read/hwloc_mask.h"

namespace paceline::topology {
namespace {

// More can only be a mistake, and each may cost a set of all CPUs.
constexpr int kMostEndless = 1024;
constexpr int kMostPci = 65536;
constexpr int kMostGroups = 1024;  // packages, NUMA nodes: what Linux allows

struct TypeName {
  std::string_view name;
  HwlocType type;
};
constexpr std::array<TypeName, 8> kTypes = {{{"Machine", HwlocType::kMachine},
                                             {"Package", HwlocType::kPackage},
                                             {"Socket", HwlocType::kPackage},
                                             {"NUMANode", HwlocType::kNumaNode},
                                             {"Core", HwlocType::kCore},
                                             {"PU", HwlocType::kPu},
                                             {"PCIDev", HwlocType::kPciDevice},
                                             {"OSDev", HwlocType::kOsDevice}}};

std::string quoted(pugi::xml_node node, const char* attribute) {
  return std::string(attribute) + "=\"" + printable(text_of(node, attribute)) + "\"";
}

// Versions 2 and 3 have the depth in the name, L3Cache or L1iCache; version 1 has Cache.
bool is_cache_name(std::string_view name) {
  return name == "Cache" || (name.size() == 7 && name.starts_with('L') && name.ends_with("Cache"));
}

HwlocType type_of(pugi::xml_node node) {
  const std::string_view name = text_of(node, "type");
  const auto known = std::ranges::find(kTypes, name, &TypeName::name);
  if (known != kTypes.end()) return known->type;
  if (name == "Bridge")
    return text_of(node, "bridge_type").starts_with('0') ? HwlocType::kHostBridge
                                                         : HwlocType::kPciBridge;
  // The root of version 1, above the machine or in its place.
  if (name == "System" && !node.find_child_by_attribute("object", "type", "Machine"))
    return HwlocType::kMachine;
  // Older versions show a cache in front of memory as one of the CPUs'.
  constexpr std::string_view kInstructions = "2";
  if (is_cache_name(name) && text_of(node, "cache_type") != kInstructions &&
      text_of(node, "subtype") != "MemorySideCache")
    return HwlocType::kCache;
  return HwlocType::kOther;
}

bool needs_cpus(HwlocType type) { return type >= HwlocType::kMachine && type <= HwlocType::kPu; }

// Storage, GPU, network, fabric, DMA and co-processor as bits, by their numbers in versions 1, 2.
std::uint32_t os_kinds_of(int version, std::uint64_t number) {
  constexpr std::array<std::uint32_t, 6> kBits = {1, 4, kOsNetwork, kOsFabric, 64, 8};
  if (version >= 3) return static_cast<std::uint32_t>(number);
  return number < kBits.size() ? kBits[number] : 0;
}

// GB/s as a decimal number, whose point is a comma where the writer's locale has one.
Result<std::uint64_t> link_speed(const XmlDocument& document, pugi::xml_node node) {
  std::string text(text_of(node, "pci_link_speed"));
  if (text.empty()) return 0;
  std::ranges::replace(text, ',', '.');
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  constexpr double kMost = 1e6;
  if (error != std::errc() || stop != end || !(value >= 0 && value <= kMost))
    return document.wrong(node, quoted(node, "pci_link_speed") + " is not a number");
  return static_cast<std::uint64_t>(std::llround(value * 1000));
}

std::optional<std::uint16_t> take_four_digits(std::string_view& text, std::string_view end) {
  constexpr std::size_t kDigits = 4;
  std::uint16_t value = 0;
  const std::string_view digits = text.substr(0, kDigits);
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc() || stop != digits.data() + kDigits) return std::nullopt;
  text.remove_prefix(kDigits);
  if (!text.starts_with(end)) return std::nullopt;
  text.remove_prefix(end.size());
  return value;
}

// "0302 [10de:1db1] [10de:1249] a1".
Status read_pci_type(const XmlDocument& document, HwlocObject& object) {
  std::string_view text = text_of(object.node, "pci_type");
  const auto kind = take_four_digits(text, " [");
  const auto vendor = take_four_digits(text, ":");
  const auto device = take_four_digits(text, "]");
  if (!kind || !vendor || !device)
    return document.wrong(object.node, quoted(object.node, "pci_type") + " is not a PCI type");
  object.pci.kind = *kind;
  object.pci.vendor = *vendor;
  object.pci.device = *device;
  return {};
}

Status read_pci(const XmlDocument& document, HwlocObject& object) {
  const auto bus = parse_bus_id(text_of(object.node, "pci_busid"));
  if (!bus)
    return document.wrong(object.node, quoted(object.node, "pci_busid") + " is not a PCI address");
  object.pci.bus = *bus;
  if (object.type == HwlocType::kPciDevice || object.node.attribute("pci_type"))
    PACELINE_TRY(read_pci_type(document, object));
  PACELINE_TRY_ASSIGN(object.pci.mb_per_s, link_speed(document, object.node));
  return {};
}

Result<int> version_of(const XmlDocument& document) {
  const pugi::xml_node root = document.root();
  if (std::string_view(root.name()) != "topology")
    return document.wrong(root, std::string("<").append(printable(root.name())) +
                                    "> is not the root of an hwloc topology");
  if (!root.attribute("version")) return 1;
  const std::string_view text = text_of(root, "version");
  const auto major = parse_number<int>(text.substr(0, text.find('.')));
  if (!major || *major < 1 || *major > 3)
    return document.wrong(root,
                          quoted(root, "version") + " is not supported; supported are 1, 2 and 3");
  return *major;
}

class ObjectReader {
 public:
  explicit ObjectReader(HwlocTree& tree) : tree_(tree) {}

  Status read_all() {
    for (const pugi::xml_node node : tree_.document.root().children("object"))
      PACELINE_TRY(read(node, kNone));
    return bound_endless();
  }

 private:
  // Elements are nested at most XmlDocument::kMostDepth deep.
  Status read(pugi::xml_node node, int parent) {
    const int place = tree_.size();
    HwlocObject object{.type = type_of(node), .node = node, .parent = parent};
    PACELINE_TRY(fill(object, place));
    tree_.objects.push_back(std::move(object));
    for (const pugi::xml_node child : node.children("object")) PACELINE_TRY(read(child, place));
    tree_.objects[static_cast<std::size_t>(place)].end = tree_.size();
    return {};
  }

  Status fill(HwlocObject& object, int place) {
    const XmlDocument& document = tree_.document;
    const pugi::xml_node node = object.node;
    PACELINE_TRY(count(object));
    PACELINE_TRY(read_cpus(object, place));
    if (object.type == HwlocType::kPciBridge || object.type == HwlocType::kPciDevice)
      PACELINE_TRY(read_pci(document, object));
    if (object.type == HwlocType::kOsDevice) {
      PACELINE_TRY_ASSIGN(const std::uint64_t kinds, document.number(node, "osdev_type", 0));
      object.os_kinds = os_kinds_of(tree_.version, kinds);
    }
    if (object.type == HwlocType::kCache) {
      PACELINE_TRY_ASSIGN(const std::uint64_t depth, document.number(node, "depth", 0));
      object.cache_depth = static_cast<int>(std::min<std::uint64_t>(depth, 9));
    }
    // What hwloc does not know the number of has -1, or none.
    constexpr std::string_view kUnknown = "-1", kUnknownToo = "4294967295";
    const std::string_view number = text_of(node, "os_index");
    if (number.empty() || number == kUnknown || number == kUnknownToo) return {};
    PACELINE_TRY_ASSIGN(object.number, document.number(node, "os_index", 0));
    return {};
  }

  Status count(const HwlocObject& object) {
    const auto refuse = [&](int most, std::string_view what) {
      return tree_.document.wrong(
          object.node, std::string("more than ") + std::to_string(most) + std::string(what));
    };
    const HwlocType type = object.type;
    if (type == HwlocType::kMachine && ++machines_ > 1)
      return tree_.document.wrong(object.node,
                                  "there is a second machine; a file must describe one machine");
    if (type == HwlocType::kPackage && ++packages_ > kMostGroups)
      return refuse(kMostGroups, " packages");
    if (type == HwlocType::kNumaNode && ++nodes_ > kMostGroups)
      return refuse(kMostGroups, " NUMA nodes");
    const bool is_pci = type >= HwlocType::kHostBridge && type <= HwlocType::kPciDevice;
    if (is_pci && ++pci_ > kMostPci) return refuse(kMostPci, " PCI objects");
    return {};
  }

  Status read_cpus(HwlocObject& object, int place) {
    const auto attribute = object.node.attribute("cpuset");
    if (!attribute) {
      if (!needs_cpus(object.type)) return {};
      const std::string type = printable(text_of(object.node, "type"));
      return tree_.document.wrong(object.node, std::string("a ") + type + " has no cpuset");
    }
    const auto mask = parse_hwloc_mask(attribute.value());
    if (!mask)
      return tree_.document.wrong(object.node,
                                  quoted(object.node, "cpuset") + " is not a CPU mask");
    if (mask->is_endless) endless_.emplace_back(place, *mask);
    if (endless_.size() > kMostEndless)
      return tree_.document.wrong(
          object.node, "more than " + std::to_string(kMostEndless) + " infinite CPU masks");
    object.cpus = mask->set;
    if (object.type == HwlocType::kPu) tree_.cpus.add(mask->set);
    return {};
  }

  // By what the rest of the machine has.
  Status bound_endless() {
    for (const HwlocObject& object : tree_.objects) {
      if (object.type != HwlocType::kMachine) continue;
      for (const char* const name : {"cpuset", "complete_cpuset"}) {
        PACELINE_TRY_ASSIGN(const auto all, mask_of(tree_.document, object.node, name, tree_.cpus));
        if (all) tree_.cpus.add(*all);
      }
    }
    for (const auto& [place, mask] : endless_)
      tree_.objects[static_cast<std::size_t>(place)].cpus = mask.within(tree_.cpus);
    return {};
  }

  HwlocTree& tree_;
  std::vector<std::pair<int, HwlocMask>> endless_;
  int machines_ = 0;
  int packages_ = 0;
  int nodes_ = 0;
  int pci_ = 0;
};

// The only CPU of such a file is made up, so the CPUs of the machine are not known.
void forget_cpus(HwlocTree& tree) {
  tree.cpus = {};
  for (HwlocObject& object : tree.objects)
    if (object.cpus) object.cpus = CpuSet();
}

}  // namespace

std::string info_of(pugi::xml_node node, std::string_view name) {
  for (const pugi::xml_node info : node.children("info")) {
    if (text_of(info, "name") != name) continue;
    constexpr std::string_view kBlanks = " \t\r\n";
    const std::string_view value = text_of(info, "value");
    const std::size_t first = value.find_first_not_of(kBlanks);
    if (first == value.npos) return {};
    return std::string(value.substr(first, value.find_last_not_of(kBlanks) - first + 1));
  }
  return {};
}

Result<std::optional<CpuSet>> mask_of(const XmlDocument& document, pugi::xml_node node,
                                      const char* attribute, const CpuSet& all) {
  if (!node.attribute(attribute)) return std::optional<CpuSet>();
  const auto mask = parse_hwloc_mask(text_of(node, attribute));
  if (!mask) return document.wrong(node, quoted(node, attribute) + " is not a CPU mask");
  return std::optional(mask->within(all));
}

Result<HwlocTree> read_hwloc_objects(const XmlDocument& document) {
  PACELINE_TRY_ASSIGN(const int version, version_of(document));
  HwlocTree tree{.document = document, .version = version};
  PACELINE_TRY(ObjectReader(tree).read_all());
  const auto machine = std::ranges::find(tree.objects, HwlocType::kMachine, &HwlocObject::type);
  if (machine == tree.objects.end())
    return document.wrong(document.root(), "there is no object of type Machine");
  if (!info_of(machine->node, kMadeUpCpu).empty()) forget_cpus(tree);
  return tree;
}

}  // namespace paceline::topology
