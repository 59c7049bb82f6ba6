#include "topology/read/nccl_links.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/nccl_words.h"

namespace paceline::topology {
namespace {

constexpr std::uint64_t kMostCount = 1024;
constexpr std::size_t kMostGpuLinks = 65536;

// What both ends say; 0: nothing.
struct Counts {
  int of_lower = 0, of_higher = 0;
};

struct LinkElement {
  pugi::xml_node node;
  LinkKind kind = LinkKind::kNvlink;
  int gpu = 0;
  int count = 1;
};

std::string links_text(int count) {
  return std::to_string(count) + (count == 1 ? " link" : " links");
}

class LinkReader {
 public:
  LinkReader(const XmlDocument& document, const std::vector<GpuElement>& elements, HostModel& host,
             WarningList& warnings)
      : document_(document), elements_(elements), host_(host), warnings_(warnings) {
    for (std::size_t i = 0; i < host.gpus.size(); ++i)
      gpus_.emplace(*host.gpus[i].pci.bus, static_cast<int>(i));
  }

  Status read() {
    for (std::size_t i = 0; i < elements_.size(); ++i)
      for (const pugi::xml_node node : elements_[i].gpu.children())
        PACELINE_TRY(read_link(node, static_cast<int>(i)));
    add_between_gpus();
    for (const auto& [key, count] : to_switches_)
      host_.links.push_back(
          {.kind = key.second, .gpu = key.first, .end = LinkEnd::kSwitch, .count = count});
    if (host_.links.size() <= kMostGpuLinks) return {};
    return document_.wrong(document_.root(),
                           "more than " + std::to_string(kMostGpuLinks) + " links between GPUs");
  }

 private:
  Status read_link(pugi::xml_node node, int gpu) {
    const std::string_view name = node.name();
    const bool is_c2c = name == "c2c";
    if (name != "nvlink" && name != "xgmi" && !is_c2c) return {};
    PACELINE_TRY_ASSIGN(const std::uint64_t count, document_.number(node, "count", 1));
    if (count > kMostCount)
      return document_.wrong(node, "count=\"" + std::to_string(count) + "\" is more links than " +
                                       std::to_string(kMostCount));
    if (count == 0) return {};
    const LinkElement link{.node = node,
                           .kind = name == "xgmi" ? LinkKind::kXgmi : LinkKind::kNvlink,
                           .gpu = gpu,
                           .count = static_cast<int>(count)};
    if (is_c2c) return add_c2c(link);
    return add(link);
  }

  // What the address says counts more than the class, which somebody may have copied.
  Status add(const LinkElement& link) {
    const auto digits = class_digits(text_of(link.node, "tclass"));
    if (!digits)
      return document_.wrong(link.node, "tclass=\"" + printable(text_of(link.node, "tclass")) +
                                            "\" is not a PCI class");
    const auto bus = parse_bus_id(text_of(link.node, "target"));
    const auto found = bus ? gpus_.find(*bus) : gpus_.end();
    if (found != gpus_.end()) {
      add_to_gpu(link, found->second);
    } else if (leads_to_cpu(*digits)) {
      add_to_cpu(link, 0);
    } else if (digits->empty() || digits->starts_with("0680")) {
      to_switches_[{link.gpu, link.kind}] += link.count;
    } else {
      say(link,
          "to " + printable(text_of(link.node, "target")) + ", which is not a GPU of this file");
    }
    return {};
  }

  // NCCL takes an end that it cannot see for a switch. NVLink of POWER ends at a bridge of the CPU.
  bool leads_to_cpu(std::string_view digits) const {
    if (digits.empty()) return host_.architecture == "ppc64le";
    const bool is_switch = digits.starts_with("0680") && !digits.starts_with("068001");
    return digits.starts_with("06") && !is_switch;
  }

  void add_to_gpu(const LinkElement& link, int peer) {
    if (peer == link.gpu) return say(link, "to itself");
    Counts& counts = between_[{std::min(link.gpu, peer), std::max(link.gpu, peer), link.kind}];
    (link.gpu < peer ? counts.of_lower : counts.of_higher) += link.count;
  }

  Status add_c2c(const LinkElement& link) {
    constexpr std::uint64_t kMostMbPerS = 100'000'000;
    PACELINE_TRY_ASSIGN(const std::uint64_t mb_per_s, document_.number(link.node, "bw", 0));
    if (mb_per_s > kMostMbPerS)
      return document_.wrong(link.node, "bw=\"" + std::to_string(mb_per_s) + "\" is not possible");
    add_to_cpu(link, mb_per_s * static_cast<std::uint64_t>(link.count));
    return {};
  }

  // NCCL knows no packages. On POWER and Grace, where CPUs have such links, each NUMA node with
  // CPUs is one.
  void add_to_cpu(const LinkElement& link, std::uint64_t mb_per_s) {
    const bool is_known = host_.architecture == "ppc64le" || host_.architecture == "aarch64";
    if (is_known && host_.packages.empty())
      for (const NumaNode& node : cpu_nodes(host_))
        host_.packages.push_back({.number = node.number, .cpus = node.cpus});
    const int number = elements_[static_cast<std::size_t>(link.gpu)].node;
    const auto package = std::ranges::find(host_.packages, number, &Package::number);
    if (package == host_.packages.end()) return say(link, "to a CPU, but its package is not known");
    GpuLink made{.kind = link.kind,
                 .gpu = link.gpu,
                 .end = LinkEnd::kPackage,
                 .peer = static_cast<int>(package - host_.packages.begin()),
                 .count = link.count};
    if (mb_per_s != 0) made.mb_per_s = {.value = mb_per_s, .source = 0};
    host_.links.push_back(made);
  }

  void add_between_gpus() {
    for (const auto& [key, counts] : between_) {
      const auto& [lower, higher, kind] = key;
      const auto [fewer, more] = std::minmax(counts.of_lower, counts.of_higher);
      const bool both = fewer > 0;
      if (both && fewer != more)
        warnings_.say(name(lower) + " has " + links_text(counts.of_lower) + " to " + name(higher) +
                      ", and " + std::to_string(counts.of_higher) + " in the other direction; " +
                      std::to_string(fewer) + " is used");
      host_.links.push_back(
          {.kind = kind, .gpu = lower, .peer = higher, .count = both ? fewer : more});
    }
  }

  const std::string& name(int gpu) const { return host_.gpus[static_cast<std::size_t>(gpu)].name; }
  void say(const LinkElement& link, const std::string& where) {
    warnings_.say(name(link.gpu) + " has " + links_text(link.count) + " " + where + "; ignored");
  }

  const XmlDocument& document_;
  const std::vector<GpuElement>& elements_;
  HostModel& host_;
  WarningList& warnings_;
  std::map<BusId, int> gpus_;
  std::map<std::tuple<int, int, LinkKind>, Counts> between_;
  std::map<std::pair<int, LinkKind>, int> to_switches_;
};

}  // namespace

Status read_nccl_links(const XmlDocument& document, const std::vector<GpuElement>& elements,
                       HostModel& host, WarningList& warnings) {
  return LinkReader(document, elements, host, warnings).read();
}

}  // namespace paceline::topology
