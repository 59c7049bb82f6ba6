#include "topology/read/plan_devices.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/device_names.h"

namespace paceline::topology {
namespace {

constexpr std::array<std::string_view, 2> kGpuKeys = {"name", "bus"};
constexpr std::size_t kMostNodes = 1024;

Places places_of(const std::vector<std::string>& names) {
  Places places;
  for (std::size_t i = 0; i < names.size(); ++i) places.emplace(names[i], static_cast<int>(i));
  return places;
}

std::string on(const std::string& host) { return " on host " + in_quotes(host); }

}  // namespace

PlanDevices::PlanDevices(const HostModel& machine)
    : machine_(machine),
      gpus_(places_of(gpu_names(machine))),
      nics_(places_of(nic_names(machine))) {
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const auto place = static_cast<int>(i);
    for (const std::string& name : machine.gpus[i].names) {
      const auto [found, is_new] = other_gpu_names_.emplace(name, place);
      if (!is_new && found->second != place) found->second = kNone;
    }
  }
  for (const NumaNode& node : machine.numa_nodes) nodes_.push_back(node.number);
  std::ranges::sort(nodes_);
}

Status PlanDevices::read_gpu(const JsonValue& from, const std::string& host, int& into) const {
  if (!from.is_there() || from.is_null()) return {};
  if (from.is_text()) return read_gpu_name(from, host, into);
  PACELINE_TRY(check_keys(from, kGpuKeys));
  PACELINE_TRY(read_gpu_name(from / "name", host, into));
  const JsonValue bus = from / "bus";
  BusId planned;
  if (!bus.is_there()) return {};
  PACELINE_TRY(read_value(bus, planned));
  const Gpu& gpu = machine_.gpus[static_cast<std::size_t>(into)];
  if (!gpu.pci.bus.is_known() || *gpu.pci.bus == planned) return {};
  return bus.wrong("the plan has " + shown(gpu.name) + " at " + to_text(planned) + ", but host " +
                   in_quotes(host) + " has it at " + to_text(*gpu.pci.bus));
}

Status PlanDevices::read_gpu_name(const JsonValue& from, const std::string& host, int& into) const {
  if (from.is_text()) {
    const auto other = other_gpu_names_.find((*from).get_ref<const std::string&>());
    const bool is_one = other != other_gpu_names_.end() && other->second != kNone;
    if (is_one && !gpus_.contains(other->first)) {
      into = other->second;
      return {};
    }
  }
  return read_name(from, gpus_, "GPU", on(host), into);
}

Status PlanDevices::read_nic(const JsonValue& from, const std::string& host, int& into) const {
  if (!from.is_there() || from.is_null()) return {};
  return read_name(from, nics_, "NIC", on(host), into);
}

Status PlanDevices::read_nodes(const JsonValue& from, const std::string& host,
                               std::vector<int>& into) const {
  if (!from.is_there()) return {};
  PACELINE_TRY(check_list(from, kMostNodes));
  into.resize(from.size());
  for (std::size_t i = 0; i < into.size(); ++i) {
    const JsonValue one = from / i;
    PACELINE_TRY(read_value(one, into[i]));
    if (std::ranges::binary_search(nodes_, into[i])) continue;
    std::vector<std::string> known;
    for (const int node : nodes_) known.push_back(std::to_string(node));
    return one.wrong("there is no NUMA node " + std::to_string(into[i]) + on(host) +
                     (known.empty() ? "" : "; known are: " + list_text(known, kMostNamed)));
  }
  std::ranges::sort(into);
  into.erase(std::unique(into.begin(), into.end()), into.end());
  return {};
}

}  // namespace paceline::topology
