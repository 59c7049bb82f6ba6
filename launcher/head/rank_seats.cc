#include "launcher/head/rank_seats.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "comm/base/text.h"
#include "launcher/head/job_start.h"
#include "topology/model/pci_vendors.h"
#include "topology/placement/host/core_cut.h"

namespace paceline::launcher {
namespace {

using topology::HostModel;
using topology::Seat;

void suggest(messages::RankSeat& seat, const std::string& name, const std::string& value) {
  if (value.empty()) return;
  messages::Variable& variable = *seat.add_suggested();
  variable.set_name(name);
  variable.set_value(value);
}

// How many ranks have each CPU.
using Sharers = std::map<std::size_t, int>;

Sharers sharers_of(const std::vector<Seat>& ranks) {
  Sharers sharers;
  for (const Seat& rank : ranks)
    for (const std::size_t cpu : rank.cpus.cpus()) ++sharers[cpu];
  return sharers;
}

// Ranks with the same CPUs share them.
int threads_of(const Seat& seat, const std::vector<CpuSet>& cores, const Sharers& sharers) {
  int most = 1;
  for (const std::size_t cpu : seat.cpus.cpus()) most = std::max(most, sharers.at(cpu));
  return std::max(1, topology::count_cores(cores, seat.cpus) / most);
}

// The numbers of the host's GPUs, those of its ranks first; empty where that is their own order.
std::string visible_gpus(const HostModel& machine, const std::vector<Seat>& ranks) {
  std::vector<int> order;
  const auto add = [&order](int gpu) {
    if (std::ranges::find(order, gpu) == order.end()) order.push_back(gpu);
  };
  for (const Seat& seat : ranks)
    if (seat.gpu != topology::kNone) add(seat.gpu);
  if (order.empty()) return "";
  for (std::size_t gpu = 0; gpu < machine.gpus.size(); ++gpu) add(static_cast<int>(gpu));
  if (std::ranges::is_sorted(order)) return "";
  std::vector<std::string> numbers;
  for (const int gpu : order)
    numbers.push_back(std::to_string(machine.gpus[static_cast<std::size_t>(gpu)].number));
  return joined(numbers, ",");
}

bool are_amd(const HostModel& machine) {
  return !machine.gpus.empty() && machine.gpus.front().pci.vendor == topology::kAmd;
}

// As NCCL and UCX name it; empty where it has none.
std::string rdma_port(const HostModel& machine, const Seat& seat) {
  if (seat.nic == topology::kNone) return "";
  const topology::Nic& nic = machine.nics[static_cast<std::size_t>(seat.nic)];
  return nic.has_rdma ? nic.name + ":" + std::to_string(nic.port) : "";
}

// Behind "=" names are whole: mlx5_1 is not mlx5_10.
std::string all_rdma_ports(const HostModel& machine, const std::vector<Seat>& ranks) {
  std::vector<std::string> ports;
  for (const Seat& seat : ranks) {
    std::string port = rdma_port(machine, seat);
    if (!port.empty() && std::ranges::find(ports, port) == ports.end())
      ports.push_back(std::move(port));
  }
  return ports.empty() ? "" : std::string("=").append(joined(ports, ","));
}

void suggest_gpus(messages::RankSeat& seat, const std::string& order, bool is_amd) {
  if (order.empty()) return;
  if (is_amd) return suggest(seat, "HIP_VISIBLE_DEVICES", order);
  suggest(seat, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");  // else CUDA numbers them by speed
  suggest(seat, "CUDA_VISIBLE_DEVICES", order);
}

std::vector<std::vector<int>> ranks_by_host(const topology::Plan& plan, std::size_t hosts) {
  std::vector<std::vector<int>> ranks(hosts);
  for (std::size_t rank = 0; rank < plan.ranks.size(); ++rank)
    ranks[static_cast<std::size_t>(plan.ranks[rank].host)].push_back(static_cast<int>(rank));
  return ranks;
}

}  // namespace

std::vector<messages::RankSeat> seats_of_host(const HostModel& machine,
                                              const std::vector<Seat>& ranks) {
  const std::vector<CpuSet> cores = topology::all_cores(machine);
  const Sharers sharers = sharers_of(ranks);
  const std::string gpus = visible_gpus(machine, ranks);
  const std::string ports = all_rdma_ports(machine, ranks);
  std::vector<messages::RankSeat> seats;
  for (const Seat& rank : ranks) {
    messages::RankSeat& seat = seats.emplace_back();
    seat.set_cpus(rank.cpus.to_text());
    for (const int node : rank.numa_nodes) seat.add_memory_nodes(static_cast<std::uint32_t>(node));
    if (!rank.cpus.is_empty())
      suggest(seat, "OMP_NUM_THREADS", std::to_string(threads_of(rank, cores, sharers)));
    suggest_gpus(seat, gpus, are_amd(machine));
    suggest(seat, "NCCL_IB_HCA", ports);
    suggest(seat, "UCX_NET_DEVICES", rdma_port(machine, rank));
  }
  return seats;
}

void follow_plan(const topology::Cluster& cluster, const topology::Plan& plan,
                 std::vector<HostAgent>& agents) {
  const std::vector<std::vector<int>> of_host = ranks_by_host(plan, agents.size());
  std::map<std::uint32_t, HostAgent> used;  // by the first of their ranks
  for (std::size_t host = 0; host < agents.size(); ++host) {
    const std::vector<int>& ranks = of_host[host];
    if (ranks.empty()) continue;
    HostAgent& agent = used.emplace(ranks.front(), std::move(agents[host])).first->second;
    give_ranks(agent.start, ranks);
    if (cluster.machines.empty()) continue;
    std::vector<Seat> seats;
    for (const int rank : ranks) seats.push_back(plan.ranks[static_cast<std::size_t>(rank)].seat);
    for (messages::RankSeat& seat :
         seats_of_host(machine_of(cluster, static_cast<int>(host)), seats))
      *agent.start.add_seats() = std::move(seat);
  }
  agents.clear();
  for (auto& [rank, agent] : used) {
    agent.start.set_host_index(static_cast<std::uint32_t>(agents.size()));
    agents.push_back(std::move(agent));
  }
}

std::string devices_text(const HostModel& machine, const Seat& seat) {
  std::string text;
  if (seat.gpu != topology::kNone)
    text = "GPU " + printable(machine.gpus[static_cast<std::size_t>(seat.gpu)].name);
  if (seat.nic == topology::kNone) return text;
  return text + (text.empty() ? "NIC " : ", NIC ") +
         printable(machine.nics[static_cast<std::size_t>(seat.nic)].name);
}

}  // namespace paceline::launcher
