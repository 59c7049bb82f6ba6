// A machine as a list of facts, which can be compared whatever the order of lists is.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "topology/model/at.h"
#include "topology/model/model_fields.h"
#include "topology/path/path.h"

namespace paceline::topology {

/// A field of the JSON form, and whose it is: "gpus.uuid" of "3".
struct FactKey {
  std::string field;
  std::string owner;

  auto operator<=>(const FactKey&) const = default;
};
using Facts = std::map<FactKey, std::string>;

/// Everything that a model states, and what follows from it: "paths" between devices, and "bridges"
/// above them. What is not known is not in it.
class FactList {
 public:
  explicit FactList(const HostModel& host) : host_(host) {}

  Facts list() {
    add_host();
    add_cpus();
    for (std::size_t i = 0; i < host_.gpus.size(); ++i) add_gpu(host_.gpus[i], std::to_string(i));
    for (const Nic& nic : host_.nics) add_nic(nic);
    add_bridges();
    add_links();
    add_paths();
    return std::move(facts_);
  }

 private:
  void say(const std::string& field, const std::string& owner, std::string value) {
    facts_[{field, owner}] = std::move(value);
  }
  void say_if_any(const std::string& field, const std::string& owner, const std::string& value) {
    if (!value.empty()) say(field, owner, value);
  }
  void say_number(const std::string& field, const std::string& owner, std::uint64_t value,
                  std::uint64_t unknown = 0) {
    if (value != unknown) say(field, owner, std::to_string(value));
  }
  void say_fact(const std::string& field, const std::string& owner,
                const Fact<std::uint64_t>& fact) {
    if (fact.is_known()) say(field, owner, std::to_string(*fact));
  }
  void say_fact(const std::string& field, const std::string& owner, const Fact<std::string>& fact) {
    if (fact.is_known()) say(field, owner, *fact);
  }
  void say_fact(const std::string& field, const std::string& owner, const Fact<Place>& fact) {
    if (!fact.is_known()) return;
    std::string text = fact->cpus.to_text() + " of nodes";
    for (const int node : fact->numa_nodes) text.append(" ").append(std::to_string(node));
    say(field, owner, text);
  }
  static std::string joined(const std::vector<std::string>& words) {
    std::string all;
    for (const std::string& word : words) all.append(word).append(";");
    return all;
  }
  template <HasWords T>
  static std::string word(T value) {
    return std::string(Words<T>::kAll[static_cast<std::size_t>(value)]);
  }

  void add_host() {
    say_if_any("name", "", host_.name);
    say_if_any("product", "", host_.product);
    say_if_any("architecture", "", host_.architecture);
    if (host_.processor.is_known())
      say("processor", "",
          host_.processor->vendor + " " + std::to_string(host_.processor->family) + "/" +
              std::to_string(host_.processor->model));
  }

  void add_cpus() {
    say_if_any("cpus", "", host_.cpus.to_text());
    say_if_any("withheld", "", host_.withheld.to_text());
    for (const Package& package : host_.packages) {
      say("packages.cpus", std::to_string(package.number), package.cpus.to_text());
      say_if_any("packages.cpu_model", std::to_string(package.number), package.cpu_model);
    }
    for (const NumaNode& node : host_.numa_nodes) {
      const std::string number = std::to_string(node.number);
      say("numa_nodes.cpus", number, node.cpus.to_text());
      say("numa_nodes.kind", number, word(node.kind));
      say_number("numa_nodes.memory_bytes", number, node.memory_bytes);
    }
    for (const Cache& cache : host_.caches)
      say("caches", cache.cpus.to_text(),
          "L" + std::to_string(cache.level) + " " + std::to_string(cache.bytes));
    for (const Core& core : host_.cores)
      say("cores", core.cpus.to_text(), core.kind.value.value_or(""));
  }

  void add_pci(const std::string& field, const std::string& owner, const PciFunction& pci) {
    if (pci.bus.is_known()) say(field + ".bus", owner, to_text(*pci.bus));
    say_number(field + ".vendor", owner, pci.vendor);
    say_number(field + ".device", owner, pci.device);
    say_fact(field + ".mb_per_s", owner, pci.mb_per_s);
  }

  void add_gpu(const Gpu& gpu, const std::string& owner) {
    say("gpus", owner, "");
    say("gpus.name", owner, gpu.name);
    say("gpus.names", owner, joined(gpu.names));
    say_fact("gpus.model", owner, gpu.model);
    say_fact("gpus.memory_bytes", owner, gpu.memory_bytes);
    say_fact("gpus.uuid", owner, gpu.uuid);
    say_number("gpus.parts", owner, static_cast<std::uint64_t>(gpu.parts), 1);
    say_fact("gpus.near", owner, gpu.near);
    add_pci("gpus.pci", owner, gpu.pci);
    add_chain(gpu.pci, "GPU " + owner);
  }

  void add_nic(const Nic& nic) {
    say("nics", nic.name, "");
    if (nic.kind != NicKind::kUnknown) say("nics.kind", nic.name, word(nic.kind));
    say("nics.has_rdma", nic.name, nic.has_rdma ? "yes" : "no");
    say_if_any("nics.interfaces", nic.name, joined(nic.interfaces));
    say_number("nics.port", nic.name, static_cast<std::uint64_t>(nic.port), 1);
    if (nic.is_up.is_known()) say("nics.is_up", nic.name, *nic.is_up ? "yes" : "no");
    say_fact("nics.rate_mbit", nic.name, nic.rate_mbit);
    if (nic.gid.is_known())
      say("nics.gid", nic.name, std::to_string(nic.gid->index) + " " + nic.gid->text);
    say_fact("nics.guid", nic.name, nic.guid);
    say_fact("nics.near", nic.name, nic.near);
    add_pci("nics.pci", nic.name, nic.pci);
    add_chain(nic.pci, nic.name);
  }

  // The switches above a device, and the place of its host bridge.
  void add_chain(const PciFunction& pci, const std::string& owner) {
    int depth = 0;
    for (int place = pci.bridge; place != kNone; place = host_.bridges[at(place)].parent) {
      const Bridge& bridge = host_.bridges[at(place)];
      const std::string which = owner + ", bridge " + std::to_string(depth++);
      say("bridges.kind", which, word(bridge.kind));
      if (bridge.bus.is_known()) say("bridges.bus", which, to_text(*bridge.bus));
      say_fact("bridges.mb_per_s", which, bridge.mb_per_s);
      say_fact("bridges.near", which, bridge.near);
    }
  }

  void add_bridges() {
    std::size_t roots = 0, loose = 0;
    for (const Bridge& bridge : host_.bridges)
      if (bridge.kind == BridgeKind::kHost) ++roots;
    for (const Gpu& gpu : host_.gpus)
      if (gpu.pci.bridge == kNone) ++loose;
    for (const Nic& nic : host_.nics)
      if (nic.pci.bridge == kNone) ++loose;
    say("bridges", "",
        std::to_string(roots) + " host bridges, " + std::to_string(loose) + " devices below none");
  }

  std::string name_of(DeviceRef device) const {
    return device.kind == DeviceKind::kGpu ? "GPU " + std::to_string(device.place)
                                           : host_.nics[at(device.place)].name;
  }

  void add_links() {
    for (const GpuLink& link : host_.links) {
      const int peer =
          link.end == LinkEnd::kPackage ? host_.packages[at(link.peer)].number : link.peer;
      const std::string owner = word(link.kind) + " of GPU " + std::to_string(link.gpu) + " to " +
                                word(link.end) + " " + std::to_string(peer);
      say("links", owner, "");
      say_number("links.count", owner, static_cast<std::uint64_t>(link.count));
      say_fact("links.mb_per_s", owner, link.mb_per_s);
    }
    for (const StatedPath& path : host_.stated)
      say("stated", name_of(path.a) + " and " + name_of(path.b),
          word(path.kind) + " " + std::to_string(path.links));
  }

  void add_paths() {
    std::vector<DeviceRef> devices;
    for (std::size_t i = 0; i < host_.gpus.size(); ++i)
      devices.push_back({DeviceKind::kGpu, static_cast<int>(i)});
    for (std::size_t i = 0; i < host_.nics.size(); ++i)
      devices.push_back({DeviceKind::kNic, static_cast<int>(i)});
    for (std::size_t a = 0; a < devices.size(); ++a)
      for (std::size_t b = a + 1; b < devices.size(); ++b)
        say("paths", name_of(devices[a]) + " and " + name_of(devices[b]),
            std::string(word_of(path_between(host_, devices[a], devices[b]).kind)));
  }

  const HostModel& host_;
  Facts facts_;
};

inline Facts facts_of(const HostModel& host) { return FactList(host).list(); }

}  // namespace paceline::topology
