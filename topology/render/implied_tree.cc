#include "topology/render/implied_tree.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "topology/model/pci_vendors.h"
#include "topology/render/nccl_links.h"

namespace paceline::topology {
namespace {

// Sets that grow together; a set is known by one of its members.
class DisjointSets {
 public:
  explicit DisjointSets(std::size_t size) : above_(size) {
    for (std::size_t i = 0; i < size; ++i) above_[i] = i;
  }
  std::size_t group_of(std::size_t one) {
    while (above_[one] != one) one = above_[one] = above_[above_[one]];
    return one;
  }
  void join(std::size_t a, std::size_t b) { above_[group_of(b)] = group_of(a); }

 private:
  std::vector<std::size_t> above_;
};

PciFunction& pci_of(HostModel& host, DeviceRef device) {
  const auto place = static_cast<std::size_t>(device.place);
  return device.kind == DeviceKind::kGpu ? host.gpus[place].pci : host.nics[place].pci;
}

const Fact<Place>& near_of(const HostModel& host, DeviceRef device) {
  const auto place = static_cast<std::size_t>(device.place);
  return device.kind == DeviceKind::kGpu ? host.gpus[place].near : host.nics[place].near;
}

// The number of the node that it is below in NCCL's XML.
int node_of(const HostModel& host, DeviceRef device) {
  return nccl_node_of(host, near_of(host, device));
}

class TreeMaker {
 public:
  explicit TreeMaker(HostModel& host) : host_(host) {
    const auto add = [this](DeviceKind kind, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        const DeviceRef device{kind, static_cast<int>(i)};
        if (pci_of(host_, device).bridge != kNone) continue;
        places_[device] = loose_.size();
        loose_.push_back(device);
      }
    };
    add(DeviceKind::kGpu, host.gpus.size());
    add(DeviceKind::kNic, host.nics.size());
  }

  void make() {
    DisjointSets switches(loose_.size()), trees(loose_.size());
    for_statements([&](std::size_t a, std::size_t b, PathKind kind) {
      if (kind == PathKind::kPix) switches.join(a, b);
      if (kind == PathKind::kPix || kind == PathKind::kPxb) trees.join(a, b);
    });
    std::set<std::size_t> contradicted;
    for_statements([&](std::size_t a, std::size_t b, PathKind kind) {
      const PathKind implied = switches.group_of(a) == switches.group_of(b) ? PathKind::kPix
                               : trees.group_of(a) == trees.group_of(b)     ? PathKind::kPxb
                                                                            : kind;
      if (implied != kind) contradicted.insert(trees.group_of(a));
    });
    std::map<std::size_t, std::vector<std::size_t>> members;
    for (std::size_t i = 0; i < loose_.size(); ++i) members[trees.group_of(i)].push_back(i);
    for (const auto& [tree, devices] : members)
      place_tree(devices, switches, contradicted.contains(tree));
  }

 private:
  template <class Use>
  void for_statements(Use use) const {
    for (const StatedPath& path : host_.stated) {
      const auto a = places_.find(path.a), b = places_.find(path.b);
      if (path.kind != PathKind::kNvl && a != places_.end() && b != places_.end())
        use(a->second, b->second, path.kind);
    }
  }

  void place_tree(const std::vector<std::size_t>& devices, DisjointSets& switches,
                  bool is_contradicted) {
    std::set<int> nodes;
    std::map<std::size_t, std::vector<std::size_t>> by_switch;
    for (const std::size_t one : devices) {
      nodes.insert(node_of(host_, loose_[one]));
      by_switch[switches.group_of(one)].push_back(one);
    }
    nodes.erase(kNone);
    if (is_contradicted || nodes.size() > 1) {
      for (const std::size_t one : devices)
        pci_of(host_, loose_[one]).bridge = host_bridge(node_of(host_, loose_[one]));
      return;
    }
    int above = host_bridge(nodes.empty() ? kNone : *nodes.begin());
    if (by_switch.size() > 1) above = add({.kind = BridgeKind::kSwitch, .parent = above});
    for (const auto& [root, below] : by_switch) {
      const int bridge =
          devices.size() > 1 ? add({.kind = BridgeKind::kSwitch, .parent = above}) : above;
      for (const std::size_t one : below) pci_of(host_, loose_[one]).bridge = bridge;
    }
  }

  int host_bridge(int node) {
    const auto found = host_bridges_.find(node);
    if (found != host_bridges_.end()) return found->second;
    Bridge bridge;
    if (node != kNone) bridge.near.value = Place{.numa_nodes = {node}};
    return host_bridges_[node] = add(std::move(bridge));
  }
  int add(Bridge bridge) {
    host_.bridges.push_back(std::move(bridge));
    return static_cast<int>(host_.bridges.size()) - 1;
  }

  HostModel& host_;
  std::vector<DeviceRef> loose_;             // devices without a bridge
  std::map<DeviceRef, std::size_t> places_;  // in loose_
  std::map<int, int> host_bridges_;          // by the number of their node
};

LinkKind kind_of_links(const HostModel& host) {
  const bool is_amd =
      std::ranges::any_of(host.gpus, [](const Gpu& gpu) { return gpu.pci.vendor == kAmd; });
  return is_amd ? LinkKind::kXgmi : LinkKind::kNvlink;
}

// A switch reaches each GPU that has links to switches, so links to switches imply that each pair
// of these GPUs is linked.
bool are_all_pairs_linked(const HostModel& host, const std::vector<int>& most) {
  const auto gpus =
      static_cast<std::size_t>(std::ranges::count_if(most, [](int links) { return links > 0; }));
  return host.links.size() == gpus * (gpus - 1) / 2;
}

// A GPU that has more links than any ever had has them all to switches, and each pair shares them.
void imply_links(HostModel& host) {
  constexpr int kMostLinksOfGpu = 18;
  const LinkKind kind = kind_of_links(host);
  std::vector<std::int64_t> sums(host.gpus.size());
  std::vector<int> most(host.gpus.size());
  for (const StatedPath& path : host.stated) {
    if (path.kind != PathKind::kNvl || path.b.kind != DeviceKind::kGpu) continue;
    host.links.push_back(
        {.kind = kind, .gpu = path.a.place, .peer = path.b.place, .count = path.links});
    for (const DeviceRef& end : {path.a, path.b}) {
      const auto place = static_cast<std::size_t>(end.place);
      sums[place] += path.links;
      most[place] = std::max(most[place], path.links);
    }
  }
  if (std::ranges::none_of(sums, [](std::int64_t sum) { return sum > kMostLinksOfGpu; }) ||
      !are_all_pairs_linked(host, most))
    return;
  host.links.clear();
  for (std::size_t i = 0; i < most.size(); ++i)
    if (most[i] > 0)
      host.links.push_back(
          {.kind = kind, .gpu = static_cast<int>(i), .end = LinkEnd::kSwitch, .count = most[i]});
}

}  // namespace

HostModel with_implied_tree(HostModel host) {
  TreeMaker(host).make();
  if (host.links.empty()) imply_links(host);
  return host;
}

}  // namespace paceline::topology
