#include "launcher/head/binding_report.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "comm/base/cpu_set.h"
#include "comm/base/text.h"
#include "launcher/system/binding.h"

namespace paceline::launcher {
namespace {

const messages::RankSeat* seat_of(const BindingReport::Host& host, std::uint32_t rank) {
  const auto at = std::ranges::lower_bound(host.ranks, rank);
  const auto place = static_cast<std::size_t>(at - host.ranks.begin());
  return place < host.seats.size() && *at == rank ? &host.seats[place] : nullptr;
}

CpuSet nodes_of(const messages::RankSeat& seat) {
  CpuSet nodes;
  for (const std::uint32_t node : seat.memory_nodes())
    if (node < CpuSet::kMostCpus) nodes.add(node);
  return nodes;
}

CpuSet cpus_of(const std::string& text) { return CpuSet::parse(text).value_or(CpuSet()); }

// Kernels that know one preferred node take the first. Of a rank that has ended there is no policy.
bool takes_memory_from(const std::string& policy, const CpuSet& nodes) {
  const CpuSet preferred = preferred_nodes(policy);
  return nodes.is_empty() || policy.empty() || preferred == nodes ||
         (preferred.count() == 1 && preferred.first() == nodes.first());
}

std::string cpus_text(const CpuSet& cpus) {
  return (cpus.count() == 1 ? "CPU " : "CPUs ") + cpus.to_text();
}

std::string memory_text(const std::string& policy) {
  const CpuSet nodes = preferred_nodes(policy);
  if (nodes.is_empty()) return "";
  return std::string(", prefers memory of NUMA node").append(nodes.count() == 1 ? " " : "s ") +
         nodes.to_text();
}

std::string what_is(const messages::RankSeat& seat, const messages::RankStarted& rank) {
  const CpuSet cpus = cpus_of(rank.cpus());
  if (cpus.is_empty()) return "ended before its binding could be read";
  const std::string text = cpus_text(cpus) + memory_text(printable(rank.memory()));
  return seat.cpus().empty() ? "not bound: " + text : text;
}

// Nothing where all is as planned, or the rank has gone.
std::optional<std::string> difference(const messages::RankSeat& seat,
                                      const messages::RankStarted& rank) {
  const CpuSet planned = cpus_of(seat.cpus()), is = cpus_of(rank.cpus());
  if (is.is_empty()) return std::nullopt;
  if (!planned.is_empty() && planned != is)
    return "runs on " + cpus_text(is) + " instead of " + planned.to_text();
  if (!takes_memory_from(rank.memory(), nodes_of(seat)))
    return "has the memory policy '" + printable(rank.memory()) +
           "' instead of a preference for NUMA node " + nodes_of(seat).to_text();
  return std::nullopt;
}

}  // namespace

void BindingReport::take_hosts(std::vector<Host> hosts, std::vector<std::string> devices) {
  hosts_ = std::move(hosts);
  devices_ = std::move(devices);
  std::size_t ranks = 0;
  for (const Host& host : hosts_) ranks += host.ranks.size();
  lines_.assign(ranks, "");
  started_ = 0;
}

void BindingReport::saw(TimePoint, const JobEvent& event, const JobState&) {
  const auto* const said = std::get_if<AgentSaid>(&event);
  if (said != nullptr && said->message.has_started())
    started(hosts_[said->host], said->message.started());
}

// A rank executes its program. Warns once for each host where a rank is not bound as planned.
void BindingReport::started(const Host& host, const messages::RankStarted& rank) {
  const messages::RankSeat* const seat = seat_of(host, rank.rank());
  if (seat == nullptr || rank.rank() >= lines_.size()) return;
  const std::string who = "rank " + std::to_string(rank.rank()) + " on host " + host.name;
  if (const auto odd = difference(*seat, rank); odd && warned_.insert(host.name).second)
    options_.say("warning: " + who + " " + *odd +
                 ": a cpuset, a container or a batch system prevents the planned binding");
  if (!options_.says_all) return;
  std::string line = who + ": " + what_is(*seat, rank);
  if (rank.rank() < devices_.size() && !devices_[rank.rank()].empty())
    line += ", " + devices_[rank.rank()];
  lines_[rank.rank()] = std::move(line);
  if (++started_ % lines_.size() != 0) return;
  for (const std::string& one : lines_) options_.say(one);
}

}  // namespace paceline::launcher
