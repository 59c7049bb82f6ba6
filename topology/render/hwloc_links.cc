#include "topology/render/hwloc_links.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "topology/path/path.h"

namespace paceline::topology {
namespace {

// Bandwidths that no source states have matrices of their own, which hwloc does not know.
constexpr std::array<std::array<const char*, 2>, 3> kNames = {
    {{"NVLinkBandwidth", "NVLinkBandwidthEstimate"},
     {"XGMIBandwidth", "XGMIBandwidthEstimate"},
     {"XeLinkBandwidth", "XeLinkBandwidthEstimate"}}};
// Of enum hwloc_distances_kind_e: from the operating system, bandwidths, objects of several types.
constexpr int kFromSystem = 1, kBandwidth = 8, kSeveralTypes = 16;
constexpr std::uint64_t kToItself = 1000000;

void add_words(pugi::xml_node matrix, const char* name, const std::string& words) {
  pugi::xml_node child = matrix.append_child(name);
  child.append_attribute("length").set_value(std::to_string(words.size()).c_str());
  child.text().set(words.c_str());
}

class Matrix {
 public:
  explicit Matrix(const HwlocNumbers& numbers) : numbers_(numbers) {}

  void add(const GpuLink& link) {
    const bool to_package = link.end == LinkEnd::kPackage;
    if (link.end == LinkEnd::kSwitch) return;
    const auto& peers = to_package ? numbers_.of_packages : numbers_.of_gpus;
    const std::string& from = numbers_.of_gpus[static_cast<std::size_t>(link.gpu)];
    const std::string& to = peers[static_cast<std::size_t>(link.peer)];
    if (from.empty() || to.empty() || from == to) return;
    const std::size_t a = place_of(from, "OSDev"),
                      b = place_of(to, to_package ? "Package" : "OSDev");
    const std::uint64_t value = link_mb_per_s(link);
    values_[{a, b}] += value;
    values_[{b, a}] += value;
    has_packages_ = has_packages_ || to_package;
  }

  void write(const char* name, pugi::xml_node topology) const {
    if (objects_.empty()) return;
    pugi::xml_node matrix =
        topology.append_child(has_packages_ ? "distances2hetero" : "distances2");
    if (!has_packages_) matrix.append_attribute("type").set_value("OSDev");
    matrix.append_attribute("nbobjs").set_value(static_cast<unsigned>(objects_.size()));
    const int kind = kFromSystem + kBandwidth + (has_packages_ ? kSeveralTypes : 0);
    matrix.append_attribute("kind").set_value(kind);
    matrix.append_attribute("name").set_value(name);
    matrix.append_attribute("indexing").set_value("gp");
    std::string indexes;
    for (const auto& [number, type] : objects_)
      indexes.append(has_packages_ ? std::string(type) + ":" : "").append(number).append(" ");
    add_words(matrix, "indexes", indexes);
    for (std::size_t row = 0; row < objects_.size(); ++row) add_words(matrix, "u64values", of(row));
  }

 private:
  std::size_t place_of(const std::string& number, const char* type) {
    const auto [found, is_new] = places_.emplace(number, objects_.size());
    if (is_new) objects_.emplace_back(number, type);
    return found->second;
  }

  std::string of(std::size_t row) const {
    std::string words;
    for (std::size_t column = 0; column < objects_.size(); ++column) {
      const auto found = values_.find({row, column});
      const std::uint64_t value = row == column            ? kToItself
                                  : found == values_.end() ? 0
                                                           : found->second;
      words.append(std::to_string(value)).append(" ");
    }
    return words;
  }

  const HwlocNumbers& numbers_;
  std::vector<std::pair<std::string, const char*>> objects_;  // number and type
  std::map<std::string, std::size_t> places_;                 // in objects_, by number
  std::map<std::pair<std::size_t, std::size_t>, std::uint64_t> values_;
  bool has_packages_ = false;
};

}  // namespace

void add_hwloc_links(const HostModel& host, const HwlocNumbers& numbers, pugi::xml_node topology) {
  for (std::size_t kind = 0; kind < kNames.size(); ++kind) {
    for (const bool is_estimate : {false, true}) {
      Matrix matrix(numbers);
      for (const GpuLink& link : host.links)
        if (static_cast<std::size_t>(link.kind) == kind && link.mb_per_s.is_known() != is_estimate)
          matrix.add(link);
      matrix.write(kNames[kind][is_estimate ? 1 : 0], topology);
    }
  }
}

}  // namespace paceline::topology
