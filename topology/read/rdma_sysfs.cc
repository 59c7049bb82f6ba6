#include "topology/read/rdma_sysfs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "comm/base/read_file.h"
#include "comm/base/text.h"

namespace paceline::topology {
namespace {

namespace fs = std::filesystem;

// Of a device that is not there for good.
constexpr std::size_t kMostRdmaDevices = 1024, kMostPorts = 16, kMostGids = 256;

std::vector<std::string> entries(const fs::path& folder, std::size_t most) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end && names.size() < most;
       at.increment(error))
    names.push_back(at->path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::string line_of(const fs::path& file) {
  std::string text = read_file(file.string());
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// "200 Gb/sec (4X HDR)", "2.5 Gb/sec (1X SDR)".
std::optional<std::uint64_t> rate_mbit(const std::string& text) {
  const auto gbit = parse_number<double>(std::string_view(text).substr(0, text.find(' ')));
  if (!gbit || !(*gbit > 0) || *gbit > 1e6) return {};
  return static_cast<std::uint64_t>(std::lround(*gbit * 1000));
}

struct Port {
  int number = 1;
  bool is_up = false;
  bool is_ethernet = false;
  std::uint64_t rate_mbit = 0;
  std::optional<Gid> gid;
};

bool is_zero(std::string_view gid) { return gid.find_first_not_of("0:") == gid.npos; }

// On Ethernet RoCE v2 passes routers; of its addresses those of IPv4 are what people configure.
std::optional<Gid> gid_of(const fs::path& port, bool is_ethernet) {
  std::optional<Gid> best;
  int best_rank = 0;
  for (const std::string& name : entries(port / "gids", kMostGids)) {
    const auto index = parse_number<int>(name);
    Gid gid{.index = index.value_or(-1), .text = line_of(port / "gids" / name)};
    if (!index || gid.text.empty() || is_zero(gid.text)) continue;
    const bool is_v2 = line_of(port / "gid_attrs/types" / name) == "RoCE v2";
    const bool is_ipv4 = gid.text.starts_with("0000:0000:0000:0000:0000:ffff:");
    const int rank = !is_ethernet ? 1 : 1 + (is_v2 ? 2 : 0) + (is_ipv4 ? 1 : 0);
    const bool is_better = rank > best_rank || (rank == best_rank && gid.index < best->index);
    if (!is_better) continue;
    best_rank = rank;
    best = std::move(gid);
  }
  return best;
}

Port port_of(const fs::path& folder, int number) {
  const bool is_ethernet = line_of(folder / "link_layer") == "Ethernet";
  return {.number = number,
          .is_up = line_of(folder / "state").starts_with("4:"),  // ACTIVE
          .is_ethernet = is_ethernet,
          .rate_mbit = rate_mbit(line_of(folder / "rate")).value_or(0),
          .gid = gid_of(folder, is_ethernet)};
}

std::optional<Port> best_port(const fs::path& device) {
  std::optional<Port> best;
  for (const std::string& name : entries(device / "ports", kMostPorts)) {
    const auto number = parse_number<int>(name);
    if (!number) continue;
    Port port = port_of(device / "ports" / name, *number);
    const bool is_better =
        !best || std::pair(port.is_up, port.rate_mbit) > std::pair(best->is_up, best->rate_mbit);
    if (is_better) best = std::move(port);
  }
  return best;
}

NicKind kind_of(const std::string& name, bool is_ethernet) {
  if (name.starts_with("hfi1")) return NicKind::kOmniPath;
  if (name.starts_with("rdmap") || name.starts_with("efa")) return NicKind::kEfa;
  return is_ethernet ? NicKind::kRoce : NicKind::kInfiniband;
}

// Software devices (rxe, siw) have none.
std::optional<BusId> bus_of(const fs::path& device) {
  std::error_code error;
  const fs::path there = fs::canonical(device / "device", error);
  return error ? std::nullopt : parse_bus_id(there.filename().string());
}

Nic nic_of(const fs::path& device) {
  Nic nic{.name = device.filename().string(),
          .interfaces = entries(device / "device/net", kMostPorts),
          .has_rdma = true};
  if (const auto bus = bus_of(device)) nic.pci.bus = known(*bus);
  if (const auto cpus = CpuSet::parse(line_of(device / "device/local_cpulist"));
      cpus && !cpus->is_empty())
    nic.near = known(Place{.cpus = *cpus});
  if (const auto node = parse_number<int>(line_of(device / "device/numa_node"));
      node && *node >= 0) {
    Place place = nic.near.value.value_or(Place{});
    place.numa_nodes = {*node};
    nic.near = known(place);
  }
  if (std::string guid = line_of(device / "node_guid"); !guid.empty()) nic.guid = known(guid);
  const std::optional<Port> port = best_port(device);
  if (!port) return nic;
  nic.port = port->number;
  nic.kind = kind_of(nic.name, port->is_ethernet);
  nic.is_up = known(port->is_up);
  if (port->rate_mbit != 0) nic.rate_mbit = known(port->rate_mbit);
  if (port->gid) nic.gid = known(*port->gid);
  return nic;
}

}  // namespace

HostModel read_rdma_devices(const std::string& root) {
  const fs::path folder = root + "/sys/class/infiniband";
  HostModel host{.sources = {"RDMA devices in " + folder.string()}};
  for (const std::string& name : entries(folder, kMostRdmaDevices))
    host.nics.push_back(nic_of(folder / name));
  return host;
}

}  // namespace paceline::topology
