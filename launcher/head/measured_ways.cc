#include "launcher/head/measured_ways.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "comm/base/try.h"
#include "launcher/connectivity/check_record.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

using topology::HostWay;
using Ways = std::map<std::pair<int, int>, HostWay>;

constexpr double kBitsPerMb = 8e6;

// By the hosts of the measurements, places in the cluster; kNone: it has none of that name.
std::vector<int> places_of(const topology::Cluster& cluster,
                           const std::vector<std::string>& names) {
  const auto known = topology::places_by_name(cluster);
  std::vector<int> places;
  for (const std::string& name : names) {
    const auto place = known.find(name);
    places.push_back(place == known.end() ? topology::kNone : place->second);
  }
  return places;
}

// Nothing where the cluster lacks one of the hosts.
HostWay* way_of(Ways& ways, const std::vector<int>& places, int from, int to) {
  const int here = places[static_cast<std::size_t>(from)];
  const int there = places[static_cast<std::size_t>(to)];
  if (here == topology::kNone || there == topology::kNone) return nullptr;
  return &ways.try_emplace({here, there}, HostWay{.from = here, .to = there}).first->second;
}

}  // namespace

Status add_measured_ways(topology::Cluster& cluster, const std::string& file,
                         const std::string& text) {
  if (file.empty()) return Status();
  const Result<probe::Measurements> measured = parse_check_json(text);
  if (!measured.ok()) return measured.status().with_context(file);
  const std::vector<int> places = places_of(cluster, measured->hosts);
  Ways ways;
  for (const HostWay& way : cluster.ways) ways.emplace(std::pair(way.from, way.to), way);
  bool is_any = false;
  for (const probe::Flow& flow : measured->flows) {
    HostWay* const way = flow.both_ways ? nullptr : way_of(ways, places, flow.from, flow.to);
    if (way == nullptr) continue;
    is_any = true;
    way->mb_per_s = std::max(way->mb_per_s, flow.bits_per_s / kBitsPerMb);
  }
  for (const probe::Latency& one : measured->latencies) {
    HostWay* const way = way_of(ways, places, one.from, one.to);
    if (way == nullptr || one.best_us <= 0) continue;
    way->latency_us = way->latency_us > 0 ? std::min(way->latency_us, one.best_us) : one.best_us;
  }
  if (!is_any && cluster.hosts.size() > 1)
    return usage_error(file + ": it has no measurement between these hosts");
  cluster.ways.clear();
  for (const auto& [ends, way] : ways) cluster.ways.push_back(way);
  return Status();
}

}  // namespace paceline::launcher
