#include "topology/read/hwloc_nics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "topology/model/pci_vendors.h"
#include "topology/read/bounds.h"
#include "topology/read/hwloc_cpus.h"

namespace paceline::topology {
namespace {

constexpr std::uint16_t kEthernet = 0x0200, kInfinibandClass = 0x0207, kFabric = 0x0208;

// The OS devices of one function.
struct Devices {
  std::vector<const HwlocObject*> fabrics;   // of OpenFabrics, some of them of a network as well
  std::vector<const HwlocObject*> networks;  // and nothing else
  bool has_any = false;
};

Devices devices_of(const HwlocTree& tree, int place) {
  Devices devices;
  for (int at = place + 1; at < tree.at(place).end; ++at) {
    const HwlocObject& object = tree.at(at);
    if (object.type != HwlocType::kOsDevice) continue;
    devices.has_any = true;
    if ((object.os_kinds & kOsFabric) != 0)
      devices.fabrics.push_back(&object);
    else if ((object.os_kinds & kOsNetwork) != 0)
      devices.networks.push_back(&object);
  }
  return devices;
}

// Of a plain Ethernet card without a driver nothing is known that a job could use.
bool is_nic_by_class(const HwlocPci& pci) {
  if (pci.kind == kInfinibandClass || pci.kind == kFabric) return true;
  return pci.kind == kEthernet &&
         (pci.vendor == kMellanox || pci.vendor == kCray || is_efa(pci.vendor, pci.device));
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts,
                             [&](std::string_view start) { return name.starts_with(start); });
}

template <class Predicate>
bool any_name(const std::vector<const HwlocObject*>& devices, Predicate predicate) {
  return std::ranges::any_of(devices,
                             [&](const HwlocObject* device) { return predicate(device->name()); });
}

std::string first_info(const std::vector<const HwlocObject*>& devices, std::string_view name) {
  for (const HwlocObject* const device : devices)
    if (std::string value = info_of(device->node, name); !value.empty()) return value;
  return {};
}

// An interface of IP over InfiniBand has an address of 20 bytes, whatever it is called.
bool is_ip_over_infiniband(const HwlocObject& network) {
  constexpr std::size_t kBytes = 20;
  const std::string address = info_of(network.node, "Address");
  return network.name().starts_with("ib") || address.size() == kBytes * 3 - 1;
}

// HPE's Slingshot is an Ethernet for the kernel. Some sites call InfiniBand interfaces hsi0 too.
bool is_slingshot(const HwlocPci& pci, const Devices& devices) {
  const auto is_named = [](std::string_view name) { return starts_with_any(name, {"hsn", "cxi"}); };
  const auto is_maybe = [](std::string_view name) { return name.starts_with("hsi"); };
  if (pci.vendor == kCray || any_name(devices.fabrics, is_named)) return true;
  if (any_name(devices.networks, is_named)) return true;
  return pci.vendor != kMellanox && devices.fabrics.empty() && any_name(devices.networks, is_maybe);
}

bool is_omni_path(const HwlocPci& pci, const Devices& devices) {
  return (pci.vendor == kIntel && pci.kind == kFabric) ||
         any_name(devices.fabrics, [](std::string_view name) { return name.starts_with("hfi1"); });
}

bool is_efa_function(const HwlocPci& pci, const Devices& devices) {
  const auto is_named = [](std::string_view name) { return name.starts_with("efa_"); };
  const auto is_rdma = [](std::string_view name) { return name.starts_with("rdmap"); };
  return is_efa(pci.vendor, pci.device) || any_name(devices.fabrics, is_named) ||
         (pci.vendor == kAmazon && any_name(devices.fabrics, is_rdma));
}

// What has both kinds of ports counts as InfiniBand, which is what it was bought for.
NicKind fabric_kind(const HwlocPci& pci, const Devices& devices) {
  const std::string layer = first_info(devices.fabrics, "Port1LinkLayer");
  if (layer == "InfiniBand") return NicKind::kInfiniband;
  if (layer == "Ethernet") return NicKind::kRoce;
  const bool has_ip = std::ranges::any_of(
      devices.networks, [](const HwlocObject* device) { return is_ip_over_infiniband(*device); });
  if (pci.kind == kInfinibandClass || has_ip) return NicKind::kInfiniband;
  if (pci.kind == kEthernet || !devices.networks.empty()) return NicKind::kRoce;
  // A local identifier is of InfiniBand; RoCE has 0.
  const std::string identifier = first_info(devices.fabrics, "Port1LID");
  const bool has_identifier = identifier.find_first_not_of("0x") != identifier.npos;
  return has_identifier ? NicKind::kInfiniband : NicKind::kUnknown;
}

NicKind kind_of(const HwlocPci& pci, const Devices& devices) {
  if (is_omni_path(pci, devices)) return NicKind::kOmniPath;
  if (is_slingshot(pci, devices)) return NicKind::kSlingshot;
  if (is_efa_function(pci, devices)) return NicKind::kEfa;
  if (!devices.fabrics.empty() || pci.kind == kInfinibandClass) return fabric_kind(pci, devices);
  const bool has_ip = std::ranges::any_of(
      devices.networks, [](const HwlocObject* device) { return is_ip_over_infiniband(*device); });
  if (has_ip) return NicKind::kInfiniband;
  return pci.kind == kFabric ? NicKind::kUnknown : NicKind::kEthernet;
}

// "200 Gb/sec (4X HDR)", "100 Gbps", "25000 Mb/s", or a number of Mbit/s.
std::optional<std::uint64_t> parse_rate(std::string_view text) {
  constexpr std::uint64_t kMost = 100'000'000;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number<std::uint64_t>(text.substr(0, digits));
  if (!number || *number == 0 || *number > kMost) return std::nullopt;
  const std::size_t unit = text.find_first_not_of(' ', digits);
  if (unit == text.npos || text.substr(unit).starts_with("Mb")) return *number;
  if (text.substr(unit).starts_with("Gb")) return *number * 1000;
  return std::nullopt;
}

Fact<std::uint64_t> rate_of(const Devices& devices) {
  constexpr std::array<std::string_view, 5> kNames = {"LinkSpeed", "Port1LinkSpeed",
                                                      "Port2LinkSpeed", "Port1Rate", "Port2Rate"};
  std::uint64_t fastest = 0;
  for (const auto* const list : {&devices.fabrics, &devices.networks})
    for (const std::string_view name : kNames)
      fastest = std::max(fastest, parse_rate(first_info(*list, name)).value_or(0));
  if (fastest == 0) return {};
  return {.value = fastest, .source = 0};
}

Nic nic_of(const HwlocTree& tree, int place, const HostModel& host) {
  const HwlocPci& pci = tree.at(place).pci;
  const Devices devices = devices_of(tree, place);
  Nic nic{.name = to_text(pci.bus), .kind = kind_of(pci, devices)};
  for (const HwlocObject* const network : devices.networks)
    nic.interfaces.emplace_back(network->name());
  std::ranges::sort(nic.interfaces);
  if (!nic.interfaces.empty()) nic.name = nic.interfaces.front();
  if (!devices.fabrics.empty()) nic.name = devices.fabrics.front()->name();
  // RoCE needs a driver that shows as a device of OpenFabrics; the others are made for nothing
  // else.
  nic.has_rdma =
      !devices.fabrics.empty() || (nic.kind != NicKind::kEthernet && nic.kind != NicKind::kUnknown);
  nic.near = near_of(tree, place, host);
  nic.rate_mbit = rate_of(devices);
  std::string guid = first_info(devices.fabrics, "NodeGUID");
  constexpr std::string_view kNoGuid = "0000:0000:0000:0000";
  if (!guid.empty() && guid != kNoGuid) nic.guid = {.value = std::move(guid), .source = 0};
  return nic;
}

}  // namespace

std::vector<int> find_hwloc_nics(const HwlocTree& tree) {
  std::vector<int> found;
  for (int at = 0; at < tree.size(); ++at) {
    if (tree.at(at).type != HwlocType::kPciDevice) continue;
    const Devices devices = devices_of(tree, at);
    const bool has_network = !devices.fabrics.empty() || !devices.networks.empty();
    if (has_network || (!devices.has_any && is_nic_by_class(tree.at(at).pci))) found.push_back(at);
  }
  return found;
}

Status add_hwloc_nics(const HwlocTree& tree, const std::vector<int>& objects, HostModel& host) {
  if (objects.size() > kMostNics)
    return tree.document.wrong(tree.at(objects[kMostNics]).node,
                               "more than " + std::to_string(kMostNics) + " NICs");
  for (const int object : objects) host.nics.push_back(nic_of(tree, object, host));
  return {};
}

}  // namespace paceline::topology
