#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "topology/render/labels.h"
#include "topology/render/outline.h"
#include "topology/render/plain_text.h"
#include "topology/render/render.h"

namespace paceline::topology {
namespace {

std::string quoted(const std::string& text) {
  std::string all = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') all += '\\';
    all += c;
  }
  return all + "\"";
}

// A title with its facts below it. Quoted before they are joined: the line breaks are Graphviz's.
std::string label_text(const Label& label) {
  std::string all = quoted(label.title);
  for (const std::string& fact : label.facts)
    all.insert(all.size() - 1, "\\n" + quoted(fact).substr(1, quoted(fact).size() - 2));
  return all;
}

const char* id_of(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::kPackage:
      return "package";
    case Group::Kind::kNode:
      return "node";
    case Group::Kind::kBridge:
      return "bridge";
    case Group::Kind::kGpu:
      return "gpu";
    case Group::Kind::kNic:
      return "nic";
    default:
      return "host";
  }
}

std::string id_of(const Group& group) {
  if (group.place == kNone) return id_of(group.kind);
  return std::string(id_of(group.kind)).append("_").append(std::to_string(group.place));
}

const char* style_of(Group::Kind kind) {
  switch (kind) {
    case Group::Kind::kGpu:
      return ", fillcolor=\"#d5efdf\"";
    case Group::Kind::kNic:
      return ", fillcolor=\"#dbe7fb\"";
    default:
      return ", fillcolor=\"#fdf1d8\"";
  }
}

// Packages and NUMA nodes are clusters, PCIe is a tree of edges in them.
class DotWriter {
 public:
  explicit DotWriter(const HostModel& host) : host_(host) {}

  std::string write() {
    const Group outline = drawn_outline_of(host_);
    line("graph host {");
    depth_ = 1;
    line("graph [label=" + label_text(label_of(host_, outline)) +
         ", labelloc=t, fontname=\"sans-serif\", rankdir=TB, splines=line];");
    line("node [shape=box, style=filled, fontname=\"sans-serif\", fontsize=10];");
    for (const Group& inside : outline.inside) add(inside);
    add_links();
    depth_ = 0;
    line("}");
    return std::move(text_);
  }

 private:
  void line(const std::string& text) { text_.append(2 * depth_, ' ').append(text).append("\n"); }

  void add(const Group& group) {
    const bool is_cluster = group.kind == Group::Kind::kPackage ||
                            group.kind == Group::Kind::kNode ||
                            group.kind == Group::Kind::kUnplaced;
    if (is_cluster) return add_cluster(group);
    line(id_of(group) + " [label=" + label_text(label_of(host_, group)) + style_of(group.kind) +
         "];");
    for (const Group& inside : group.inside) {
      add(inside);
      line(id_of(group) + " -- " + id_of(inside) + ";");
    }
  }

  void add_cluster(const Group& group) {
    line("subgraph cluster_" + id_of(group) + " {");
    ++depth_;
    line("label=" + label_text(label_of(host_, group)) + ";");
    // Graphviz leaves out a cluster without nodes.
    if (group.inside.empty()) line(id_of(group) + " [style=invis, label=\"\"];");
    for (const Group& inside : group.inside) add(inside);
    --depth_;
    line("}");
  }

  void add_links() {
    for (const GpuLink& link : host_.links) {
      const std::string from = "gpu_" + std::to_string(link.gpu);
      if (link.end == LinkEnd::kGpu) add_link(from, "gpu_" + std::to_string(link.peer), link.count);
      if (link.end == LinkEnd::kSwitch) add_link(from, "link_switch", link.count);
      if (link.end == LinkEnd::kPackage)
        add_link(from, "package_of_links_" + std::to_string(link.peer), link.count);
    }
    for (const StatedPath& path : host_.stated)
      if (path.kind == PathKind::kNvl && path.b.kind == DeviceKind::kGpu)
        add_link("gpu_" + std::to_string(path.a.place), "gpu_" + std::to_string(path.b.place),
                 path.links);
    add_ends();
  }

  void add_link(const std::string& from, const std::string& to, int count) {
    const std::string label = count > 0 ? ", label=\"x" + std::to_string(count) + "\"" : "";
    line(from + " -- " + to + " [color=\"#2f855a\", penwidth=2" + label + "];");
  }

  // What links lead to and the tree of PCIe does not have.
  void add_ends() {
    std::vector<int> packages;
    bool has_switch = false;
    for (const GpuLink& link : host_.links) {
      if (link.end == LinkEnd::kPackage) packages.push_back(link.peer);
      has_switch = has_switch || link.end == LinkEnd::kSwitch;
    }
    if (has_switch) line("link_switch [label=\"link switches\", fillcolor=\"#d5efdf\"];");
    std::ranges::sort(packages);
    packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
    for (const int package : packages)
      line("package_of_links_" + std::to_string(package) + " [label=\"package " +
           std::to_string(host_.packages[static_cast<std::size_t>(package)].number) +
           "\", fillcolor=\"#eef1f5\"];");
  }

  const HostModel& host_;
  std::size_t depth_ = 0;
  std::string text_;
};

}  // namespace

std::string dot_text(const HostModel& host) { return DotWriter(host).write(); }

}  // namespace paceline::topology
