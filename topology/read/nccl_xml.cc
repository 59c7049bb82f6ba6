#include "topology/read/nccl_xml.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/model/nccl_words.h"
#include "topology/model/pci_vendors.h"
#include "topology/model/pcie_link.h"
#include "topology/read/bounds.h"
#include "topology/read/nccl_links.h"
#include "topology/read/nccl_nics.h"
#include "topology/read/warning_list.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kMostCpuElements = 1024, kMostPciElements = 65536;

struct FoundGpu {
  Gpu gpu;
  GpuElement element;
  std::optional<int> dev;
};

struct NodeMask {
  int node = kNone;
  CpuMask mask;
};

std::string bus_text(const PciFunction& pci) { return to_text(*pci.bus); }

class NcclReader {
 public:
  explicit NcclReader(const XmlDocument& document) : document_(document) {}

  Result<HostModel> read() {
    PACELINE_TRY(read_system(document_.root()));
    warn_of_masks();
    warn_of_unknown();
    number_gpus();
    nics_.keep_guids();
    std::vector<GpuElement> elements;
    for (FoundGpu& found : gpus_) {
      host_.gpus.push_back(std::move(found.gpu));
      elements.push_back(found.element);
    }
    PACELINE_TRY(read_nccl_links(document_, elements, host_, warnings_));
    drop_made_up_addresses();
    warnings_.add_to(host_, 0);
    auto finished = finish(std::move(host_), 0);
    if (!finished.ok()) return document_.wrong(document_.root(), finished.status().text());
    return finished;
  }

 private:
  Status read_system(pugi::xml_node root) {
    if (std::string_view(root.name()) != "system")
      return document_.wrong(
          root, "<" + printable(root.name()) + "> is not the root of an NCCL topology, <system>");
    const std::string_view version = text_of(root, "version");
    if (version != "1" && version != "2")
      return document_.wrong(
          root, "version \"" + printable(version) + "\" is not supported; NCCL has 1, RCCL has 2");
    host_.sources = {(version == "1" ? "NCCL XML " : "RCCL XML ") + printable(document_.name())};
    std::size_t count = 0;
    for (const pugi::xml_node cpu : root.children("cpu")) {
      if (++count > kMostCpuElements) return too_many(cpu, kMostCpuElements, "elements <cpu>");
      PACELINE_TRY(read_cpu(cpu));
    }
    return {};
  }

  // ---- CPUs

  Status read_cpu(pugi::xml_node cpu) {
    if (is_of_other_host(cpu)) return {};
    PACELINE_TRY_ASSIGN(const int node, node_of(cpu));
    const auto mask = parse_cpu_mask(text_of(cpu, "affinity"));
    if (!mask) return no_such(cpu, "affinity", "CPU mask");
    masks_.push_back({node, *mask});
    host_.cpus.add(mask->cpus);
    if (host_.architecture.empty()) host_.architecture = architecture_of(text_of(cpu, "arch"));
    if (!host_.processor.is_known()) host_.processor = processor_of(cpu);
    if (node != kNone) add_node(node, mask->cpus);

    Bridge bridge;
    Place near{.cpus = mask->cpus};
    if (node != kNone) near.numa_nodes = {node};
    if (near != Place{}) bridge.near = known(near);
    const int place = add_bridge(std::move(bridge));
    for (const pugi::xml_node child : cpu.children()) {
      const std::string_view name = child.name();
      if (name == "pci") PACELINE_TRY(read_pci(child, place, node));
      if (name == "nic") PACELINE_TRY(nics_.add_without_pci(child, place));
    }
    return {};
  }

  // NCCL joins the files of hosts that share NVLink switches; a model is of one host.
  bool is_of_other_host(pugi::xml_node cpu) {
    const std::string hash(text_of(cpu, "host_hash"));
    if (!host_hash_) host_hash_ = hash;
    const bool is_other = *host_hash_ != hash;
    if (is_other && !has_other_hosts_)
      warnings_.say("the file describes several hosts; only the first one is used");
    has_other_hosts_ |= is_other;
    return is_other;
  }

  // -1 where the kernel knows no NUMA nodes.
  Result<int> node_of(pugi::xml_node cpu) {
    if (!cpu.attribute("numaid")) return document_.wrong(cpu, "a <cpu> has no numaid");
    if (text_of(cpu, "numaid") == "-1") return kNone;
    PACELINE_TRY_ASSIGN(const std::uint64_t number, bounded(cpu, "numaid"));
    return static_cast<int>(number);
  }

  static std::string architecture_of(std::string_view word) {
    if (word == "arm64") return "aarch64";
    if (word == "ppc64") return "ppc64le";  // GPUs are there on no other
    return std::string(word);
  }

  static Fact<Processor> processor_of(pugi::xml_node cpu) {
    const auto family = parse_number<int>(text_of(cpu, "familyid"));
    const auto model = parse_number<int>(text_of(cpu, "modelid"));
    const std::string vendor(text_of(cpu, "vendor"));
    if (text_of(cpu, "arch") != "x86_64" || vendor.empty() || !family || !model) return {};
    if (*family < 0 || *model < 0) return {};
    return known(Processor{.vendor = vendor, .family = *family, .model = *model});
  }

  void add_node(int number, const CpuSet& cpus) {
    const auto found = std::ranges::find(host_.numa_nodes, number, &NumaNode::number);
    if (found == host_.numa_nodes.end()) {
      host_.numa_nodes.push_back({.number = number, .cpus = cpus});
      return;
    }
    warnings_.say("NUMA node " + std::to_string(number) +
                  " occurs twice; it is read as two host bridges of one node");
    found->cpus.add(cpus);
  }

  int add_bridge(Bridge bridge) {
    host_.bridges.push_back(std::move(bridge));
    return static_cast<int>(host_.bridges.size()) - 1;
  }

  // The kernel gives all nodes masks of one length, and all words but the first 8 digits.
  void warn_of_masks() {
    int longest = 0;
    for (const NodeMask& one : masks_) longest = std::max(longest, one.mask.first_digits);
    const auto say = [this](int node, const std::string& what) {
      warnings_.say("NUMA node " + std::to_string(node) + ": its affinity " + what +
                    "; digits may be missing");
    };
    for (const auto& [node, mask] : masks_) {
      if (mask.short_digits != 0)
        say(node, "has a word of " + digits_text(mask.short_digits) + ", but the kernel writes 8");
      if (mask.first_digits != 0 && mask.first_digits < longest)
        say(node, "begins with a word of " + digits_text(mask.first_digits) + ", but another has " +
                      std::to_string(longest));
    }
  }
  static std::string digits_text(int digits) {
    return std::to_string(digits) + (digits == 1 ? " digit" : " digits");
  }

  // ---- PCI

  Status read_pci(pugi::xml_node pci, int bridge, int node) {
    if (++pci_count_ > kMostPciElements) return too_many(pci, kMostPciElements, "elements <pci>");
    PACELINE_TRY_ASSIGN(PciFunction function, function_of(pci, bridge));
    const auto digits = class_digits(text_of(pci, "class"));
    if (!digits) return no_such(pci, "class", "PCI class");
    const bool is_gpu = tells_gpu(pci, *digits, function.vendor);
    const bool is_nic = !is_gpu && (pci.child("nic") || digits->starts_with("02"));
    const bool has_children = !pci.child("pci").empty();
    if (is_gpu || is_nic) {
      if (has_children)
        warnings_.say(bus_text(function) +
                      " is not a bridge, but has devices below it; they are read as its siblings");
      PACELINE_TRY(add_device(pci, function, is_gpu, digits->starts_with("0207"), node));
    } else if (has_children) {
      bridge = switch_at(function);
    } else if (digits->empty()) {
      unknown_.push_back(bus_text(function));
    }
    for (const pugi::xml_node child : pci.children("pci"))
      PACELINE_TRY(read_pci(child, bridge, node));
    return {};
  }

  Status add_device(pugi::xml_node pci, const PciFunction& function, bool is_gpu,
                    bool is_infiniband, int node) {
    if (!devices_.insert(*function.bus).second) {
      warnings_.say(bus_text(function) + " occurs twice; the first one is used");
      return {};
    }
    return is_gpu ? add_gpu(pci, function, node) : nics_.add(pci, function, is_infiniband);
  }

  // A bridge that occurs again below the same bridge is one: files that programs join repeat it.
  int switch_at(const PciFunction& function) {
    const auto [found, is_new] = switches_.try_emplace({function.bridge, *function.bus}, kNone);
    if (is_new)
      found->second = add_bridge({.kind = BridgeKind::kSwitch,
                                  .bus = function.bus,
                                  .parent = function.bridge,
                                  .mb_per_s = function.mb_per_s});
    return found->second;
  }

  Result<PciFunction> function_of(pugi::xml_node pci, int bridge) {
    const auto bus = parse_bus_id(text_of(pci, "busid"));
    if (!bus) return no_such(pci, "busid", "PCI address");
    PACELINE_TRY_ASSIGN(const std::uint64_t vendor, bounded(pci, "vendor"));
    PACELINE_TRY_ASSIGN(const std::uint64_t device, bounded(pci, "device"));
    PACELINE_TRY_ASSIGN(const std::uint64_t width, bounded(pci, "link_width"));
    PciFunction function{.bus = known(*bus), .bridge = bridge};
    if (vendor != kMostNcclNumber) {  // 0xffff is nobody's
      function.vendor = static_cast<std::uint16_t>(vendor);
      function.device = static_cast<std::uint16_t>(device);
    }
    if (const auto mb_per_s = pcie_mb_per_s(text_of(pci, "link_speed"), width))
      function.mb_per_s = known(*mb_per_s);
    return function;
  }

  bool tells_gpu(pugi::xml_node pci, std::string_view digits, std::uint64_t vendor) {
    if (pci.child("gpu")) return true;
    if (vendor == kAspeed || vendor == kMatrox) return false;
    // A plain VGA may be anybody's; 03 alone is what NCCL writes of its own GPUs.
    if (digits.starts_with("0300")) return vendor == kNvidia;
    return digits == "03" || digits.starts_with("0302") || digits.starts_with("0380") ||
           digits.starts_with("1200");
  }

  // A GPU that is divided (MLOPart) has an element for each part, and each part is a device for
  // programs.
  Status add_gpu(pugi::xml_node pci, const PciFunction& function, int node) {
    PACELINE_TRY(add_part(pci, {.gpu = {.pci = function}, .element = {pci.child("gpu"), node}}));
    for (pugi::xml_node part = pci.child("gpu").next_sibling("gpu"); part;
         part = part.next_sibling("gpu"))
      PACELINE_TRY(add_part(pci, {.gpu = {.pci = function}, .element = {part, node}}));
    return {};
  }

  Status add_part(pugi::xml_node pci, FoundGpu found) {
    if (gpus_.size() == kMostGpus) return too_many(pci, kMostGpus, "GPUs");
    const std::string_view dev = text_of(found.element.gpu, "dev");
    const auto number = parse_number<int>(dev);
    if (!dev.empty() && !number) return no_such(found.element.gpu, "dev", "number");
    if (number && *number >= 0) found.dev = number;
    gpus_.push_back(std::move(found));
    return {};
  }

  // In a file NCCL completes, dev is the number of NVML, which counts GPUs by their PCI address;
  // so do those count that have no number in the file (nccl, src/graph/xml.cc).
  void number_gpus() {
    const auto key = [](const FoundGpu& found) {
      return std::pair(found.dev.value_or(INT_MAX), *found.gpu.pci.bus);
    };
    std::ranges::stable_sort(gpus_, {}, key);
    std::size_t numbered = 0;
    bool is_odd = false;
    std::vector<std::string> numbers;
    std::size_t expected = 0;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      if (!gpus_[i].dev) continue;
      ++numbered;
      // The parts of a GPU have its number.
      if (i > 0 && key(gpus_[i]) == key(gpus_[i - 1])) continue;
      is_odd |= static_cast<std::size_t>(*gpus_[i].dev) != expected++;
      numbers.push_back(std::to_string(*gpus_[i].dev));
    }
    constexpr std::size_t kShown = 16;
    if (is_odd)
      warnings_.say("GPUs are numbered " + list_text(numbers, kShown) +
                    "; they are renumbered in this order");
    if (numbered != 0 && numbered != gpus_.size())
      warnings_.say(std::to_string(gpus_.size() - numbered) + " of " +
                    std::to_string(gpus_.size()) + " GPUs have no number; they come last");
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      Gpu& gpu = gpus_[i].gpu;
      gpu.name = "GPU" + std::to_string(i);
      gpu.names = {gpu.name};
    }
  }

  void warn_of_unknown() {
    constexpr std::size_t kShown = 4;
    if (unknown_.empty()) return;
    warnings_.say(
        list_text(unknown_, kShown) + (unknown_.size() == 1 ? " has" : " have") +
        " an address but no class; the kind of device is known only on the machine itself");
  }

  // Our writer makes them up where NCCL wants an address and no source states one.
  void drop_made_up_addresses() {
    const auto drop = [](Fact<BusId>& bus) {
      if (bus.is_known() && is_made_up(*bus)) bus = {};
    };
    for (Bridge& bridge : host_.bridges) drop(bridge.bus);
    for (Gpu& gpu : host_.gpus) drop(gpu.pci.bus);
    for (Nic& nic : host_.nics) drop(nic.pci.bus);
  }

  // ---- what is wrong

  Result<std::uint64_t> bounded(pugi::xml_node node, const char* attribute) const {
    return bounded_number(document_, node, attribute);
  }
  Status no_such(pugi::xml_node node, const char* attribute, const std::string& what) {
    return document_.wrong(node, std::string(attribute) + "=\"" +
                                     printable(text_of(node, attribute)) + "\" is not a " + what);
  }
  Status too_many(pugi::xml_node node, std::size_t most, const std::string& what) {
    return document_.wrong(node, "more than " + std::to_string(most) + " " + what);
  }

  const XmlDocument& document_;
  HostModel host_;
  WarningList warnings_;
  NcclNics nics_{document_, host_, warnings_};
  std::optional<std::string> host_hash_;
  bool has_other_hosts_ = false;
  std::vector<NodeMask> masks_;
  std::size_t pci_count_ = 0;
  std::set<BusId> devices_;
  std::map<std::pair<int, BusId>, int> switches_;  // by the bridge above, and address
  std::vector<FoundGpu> gpus_;
  std::vector<std::string> unknown_;  // addresses of what has no class
};

}  // namespace

Result<HostModel> read_nccl_xml(const XmlDocument& document) { return NcclReader(document).read(); }

}  // namespace paceline::topology
