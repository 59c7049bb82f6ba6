#include "topology/render/relations.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "comm/base/text.h"
#include "topology/model/model_fields.h"
#include "topology/path/path.h"
#include "topology/placement/host/nic_choice.h"
#include "topology/render/labels.h"
#include "topology/render/plain_text.h"

namespace paceline::topology {
namespace {

// Every path is looked for among links and stated paths, so that their number counts too.
constexpr std::size_t kMostPaths = 16384;
constexpr std::size_t kMostPairs = 128;
constexpr std::size_t kMostNics = 2;

std::string_view word_of(LinkKind kind) {
  return Words<LinkKind>::kAll[static_cast<std::size_t>(kind)];
}

// Links that a heading is the same for: what they are, where they end, how many side by side.
struct LinkKey {
  std::string_view what;
  LinkEnd end = LinkEnd::kGpu;
  int count = 0;

  auto operator<=>(const LinkKey&) const = default;
};
using Ends = std::vector<std::pair<int, int>>;

std::map<LinkKey, Ends> links_by_key(const HostModel& host) {
  std::map<LinkKey, Ends> found;
  for (const GpuLink& link : host.links)
    found[{word_of(link.kind), link.end, link.count}].emplace_back(link.gpu, link.peer);
  for (const StatedPath& path : host.stated)
    if (path.kind == PathKind::kNvl && path.b.kind == DeviceKind::kGpu)
      found[{"NVL", LinkEnd::kGpu, path.links}].emplace_back(path.a.place, path.b.place);
  for (auto& [key, ends] : found) {
    std::ranges::sort(ends);
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  }
  return found;
}

bool is_all(const HostModel& host, LinkEnd end, const Ends& ends) {
  const std::size_t gpus = host.gpus.size();
  if (end == LinkEnd::kSwitch) return ends.size() == gpus;
  return end == LinkEnd::kGpu && gpus > 2 && ends.size() == gpus * (gpus - 1) / 2;
}

std::string pair_text(const HostModel& host, LinkEnd end, const std::pair<int, int>& pair) {
  std::string gpu = std::to_string(pair.first);
  if (end == LinkEnd::kSwitch) return gpu;
  if (end == LinkEnd::kGpu) return gpu + "-" + std::to_string(pair.second);
  const Package& package = host.packages[static_cast<std::size_t>(pair.second)];
  return gpu + "-package " + std::to_string(package.number);
}

// The paths of one GPU to the nearest of the NICs that can carry gradients.
struct Nearest {
  std::vector<std::string> nics;
  Path path;
};

Nearest nearest_to(const HostModel& host, int gpu) {
  Nearest nearest;
  const auto worth = [](const Path& path) { return std::pair(path.kind, ~path.mb_per_s); };
  for (const int place : usable_nics(host)) {
    const DeviceRef nic{DeviceKind::kNic, place};
    const Path path = path_between(host, {DeviceKind::kGpu, gpu}, nic);
    if (nearest.nics.empty() || worth(path) < worth(nearest.path)) nearest = {{}, path};
    if (worth(path) == worth(nearest.path)) nearest.nics.push_back(short_name(host, nic));
  }
  return nearest;
}

}  // namespace

std::vector<LinkGroup> link_groups(const HostModel& host) {
  std::vector<LinkGroup> groups;
  for (const auto& [key, ends] : links_by_key(host)) {
    const std::string count = key.count > 0 ? " x" + std::to_string(key.count) : "";
    const bool to_switch = key.end == LinkEnd::kSwitch;
    LinkGroup group{.what = std::string(key.what), .pairs = {}, .end = key.end};
    if (is_all(host, key.end, ends)) {
      group.what.append(to_switch ? ", all GPUs to switches" : ", all pairs").append(count);
    } else {
      group.what.append(to_switch ? " to switches" : "").append(count);
      const std::size_t shown = std::min(ends.size(), kMostPairs);
      for (std::size_t i = 0; i < shown; ++i)
        group.pairs.push_back(pair_text(host, key.end, ends[i]));
      if (ends.size() > shown) group.pairs.push_back(std::to_string(ends.size() - shown) + " more");
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<std::vector<std::string>> link_cells(const HostModel& host) {
  std::vector<std::vector<std::string>> cells(host.gpus.size());
  for (std::vector<std::string>& row : cells) row.resize(host.gpus.size());
  for (const auto& [key, ends] : links_by_key(host)) {
    if (key.end != LinkEnd::kGpu) continue;
    const std::string text = key.count > 0 ? std::to_string(key.count) : "+";
    for (const auto& [a, b] : ends)
      for (const auto& [row, column] : {std::pair(a, b), std::pair(b, a)})
        cells[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)] = text;
  }
  return cells;
}

std::vector<NearestNics> nearest_nics(const HostModel& host) {
  std::vector<NearestNics> rows;
  if (usable_nics(host).empty() || host.gpus.size() * host.nics.size() > kMostPaths) return rows;
  for (std::size_t i = 0; i < host.gpus.size(); ++i) {
    const int gpu = static_cast<int>(i);
    const Nearest nearest = nearest_to(host, gpu);
    NearestNics row{gpu, gpu, list_text(nearest.nics, kMostNics),
                    std::string(word_of(nearest.path.kind))};
    if (nearest.path.mb_per_s > 0)
      row.path.append(nearest.path.is_estimate ? ", about " : ", ")
          .append(speed_text(nearest.path.mb_per_s));
    if (!rows.empty() && rows.back().nics == row.nics && rows.back().path == row.path)
      rows.back().last_gpu = gpu;
    else
      rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace paceline::topology
