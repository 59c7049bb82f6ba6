#include "topology/render/outline.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "topology/model/at.h"

namespace paceline::topology {
namespace {

using Groups = std::vector<Group>;

// Builds from the leaves up: devices, bridges, nodes, packages, host.
class Builder {
 public:
  explicit Builder(const HostModel& host)
      : host_(host),
        below_(host.bridges.size()),
        in_node_(host.numa_nodes.size()),
        in_package_(host.packages.size()),
        package_of_cpu_(CpuSet::kMostCpus, kNone) {
    for (std::size_t i = 0; i < host.packages.size(); ++i)
      for (const std::size_t cpu : host.packages[i].cpus.cpus())
        if (package_of_cpu_[cpu] == kNone) package_of_cpu_[cpu] = static_cast<int>(i);
    for (std::size_t i = 0; i < host.numa_nodes.size(); ++i) {
      place_of_node_.emplace(host.numa_nodes[i].number, static_cast<int>(i));
      package_of_node_.push_back(only_package(host.numa_nodes[i].cpus));
    }
  }

  Group build() {
    add_devices();
    add_bridges();
    Group host{.kind = Group::Kind::kHost};
    add_nodes();
    for (std::size_t i = 0; i < host_.packages.size(); ++i)
      host.inside.push_back(
          {Group::Kind::kPackage, static_cast<int>(i), std::move(in_package_[i])});
    std::ranges::move(in_host_, std::back_inserter(host.inside));
    if (!unplaced_.empty())
      host.inside.push_back({Group::Kind::kUnplaced, kNone, std::move(unplaced_)});
    return host;
  }

 private:
  void add_devices() {
    for (std::size_t i = 0; i < host_.gpus.size(); ++i)
      add({Group::Kind::kGpu, static_cast<int>(i), {}}, host_.gpus[i].pci, host_.gpus[i].near);
    for (std::size_t i = 0; i < host_.nics.size(); ++i)
      add({Group::Kind::kNic, static_cast<int>(i), {}}, host_.nics[i].pci, host_.nics[i].near);
  }

  void add(Group device, const PciFunction& pci, const Fact<Place>& near) {
    if (pci.bridge == kNone) return home_of(near).push_back(std::move(device));
    below_[at(pci.bridge)].push_back(std::move(device));
  }

  // From the last, since a bridge stands before those below it: what is below is whole by then.
  void add_bridges() {
    Groups at_top;
    for (std::size_t i = host_.bridges.size(); i-- > 0;) {
      Group bridge{Group::Kind::kBridge, static_cast<int>(i), std::move(below_[i])};
      std::ranges::stable_sort(bridge.inside, {}, order_in_bridge);
      const int parent = host_.bridges[i].parent;
      (parent == kNone ? at_top : below_[at(parent)]).push_back(std::move(bridge));
    }
    std::ranges::reverse(at_top);
    for (Group& bridge : at_top) {
      const Fact<Place>& near = host_.bridges[at(bridge.place)].near;
      home_of(near.is_known() ? near : near_of_first(bridge)).push_back(std::move(bridge));
    }
  }

  // Switches before devices.
  static std::pair<bool, int> order_in_bridge(const Group& group) {
    const bool is_bridge = group.kind == Group::Kind::kBridge;
    return {!is_bridge, is_bridge ? group.place : 0};
  }

  // Where a device below a bridge is that nobody placed.
  Fact<Place> near_of_first(const Group& bridge) const {
    for (const Group& inside : bridge.inside) {
      Fact<Place> near = inside.kind == Group::Kind::kGpu   ? host_.gpus[at(inside.place)].near
                         : inside.kind == Group::Kind::kNic ? host_.nics[at(inside.place)].near
                                                            : near_of_first(inside);
      if (near.is_known()) return near;
    }
    return {};
  }

  void add_nodes() {
    Groups of_no_package;
    for (std::size_t i = 0; i < host_.numa_nodes.size(); ++i) {
      Group node{Group::Kind::kNode, static_cast<int>(i), std::move(in_node_[i])};
      const int package = package_of_node_[i];
      (package == kNone ? of_no_package : nodes_of_[package]).push_back(std::move(node));
    }
    for (auto& [package, nodes] : nodes_of_) put_first(nodes, in_package_[at(package)]);
    put_first(of_no_package, in_host_);
  }

  static void put_first(Groups& groups, Groups& into) {
    into.insert(into.begin(), std::move_iterator(groups.begin()), std::move_iterator(groups.end()));
  }

  int only_package(const CpuSet& cpus) const {
    std::set<int> packages;
    for (const std::size_t cpu : cpus.cpus()) packages.insert(package_of_cpu_[cpu]);
    return packages.size() == 1 ? *packages.begin() : kNone;
  }

  Groups& home_of(const Fact<Place>& near) {
    if (!near.is_known() || (near->numa_nodes.empty() && near->cpus.is_empty())) return unplaced_;
    const std::vector<int> nodes = nodes_near(*near);
    if (nodes.size() == 1) return in_node_[at(nodes.front())];
    std::set<int> packages;
    for (const int node : nodes) packages.insert(package_of_node_[at(node)]);
    const int package = nodes.empty()          ? only_package(near->cpus)
                        : packages.size() == 1 ? *packages.begin()
                                               : kNone;
    return package == kNone ? in_host_ : in_package_[at(package)];
  }

  // Places of the nodes that are there; memory beside other memory does not count.
  std::vector<int> nodes_near(const Place& near) const {
    std::vector<int> ordinary, others;
    for (const int number : near.numa_nodes) {
      const auto found = place_of_node_.find(number);
      if (found == place_of_node_.end()) continue;
      const bool is_ordinary = host_.numa_nodes[at(found->second)].kind == MemoryKind::kOrdinary;
      (is_ordinary ? ordinary : others).push_back(found->second);
    }
    return ordinary.empty() ? others : ordinary;
  }

  const HostModel& host_;
  std::vector<Groups> below_, in_node_, in_package_;  // of each bridge, node, package
  Groups in_host_, unplaced_;
  std::map<int, Groups> nodes_of_;  // of packages
  std::vector<int> package_of_cpu_;
  std::map<int, int> place_of_node_;  // by number
  std::vector<int> package_of_node_;  // by place; none: of several, or of none
};

void leave_out_plain_bridges(const HostModel& host, Group& group) {
  for (Group& inside : group.inside) {
    leave_out_plain_bridges(host, inside);
    const bool is_host_bridge =
        inside.kind == Group::Kind::kBridge && host.bridges[at(inside.place)].parent == kNone;
    if (!is_host_bridge || inside.inside.size() != 1) continue;
    Group only = std::move(inside.inside.front());
    inside = std::move(only);
  }
}

bool divides_cpus(const HostModel& host, const Group& group) {
  if (group.kind == Group::Kind::kPackage) return true;
  if (group.kind != Group::Kind::kNode) return false;
  const NumaNode& node = host.numa_nodes[at(group.place)];
  return node.kind == MemoryKind::kOrdinary && !node.cpus.is_empty();
}

}  // namespace

Group outline_of(const HostModel& host) { return Builder(host).build(); }

Group drawn_outline_of(const HostModel& host) {
  Group outline = outline_of(host);
  leave_out_plain_bridges(host, outline);
  return outline;
}

CpuSet told_cpus(const HostModel& host, const Group& group) {
  const bool divided =
      std::ranges::any_of(group.inside, [&](const Group& one) { return divides_cpus(host, one); });
  if (divided) return {};
  if (group.kind == Group::Kind::kHost) return host.cpus;
  if (group.kind == Group::Kind::kPackage) return host.packages[at(group.place)].cpus;
  return divides_cpus(host, group) ? host.numa_nodes[at(group.place)].cpus : CpuSet();
}

}  // namespace paceline::topology
