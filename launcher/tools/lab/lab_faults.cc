#include "launcher/tools/lab/lab_faults.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <sched.h>
#include <signal.h>

#include "comm/base/try.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/run_program.h"
#include "launcher/tools/lab/lab_cgroups.h"
#include "launcher/tools/lab/namespaces.h"
#include "launcher/tools/lab/stopped_processes.h"
#include "launcher/tools/lab/surroundings.h"
#include "launcher/tools/lab/system_program.h"
#include "launcher/tools/lab/wiring.h"

namespace paceline::launcher {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

using Batch = std::string;

// What one host's trouble is about.
struct Target {
  const LabRecord& record;
  int host;
  std::vector<int> rails;

  const ProcessIdentity& init() const { return record.inits[static_cast<std::size_t>(host)]; }
  std::vector<std::string> ports() const {
    std::vector<std::string> names;
    for (const int rail : rails) names.push_back(lab_port(host, rail));
    return names;
  }
};

Result<int> living_host(const LabRecord& record, const std::string& name) {
  const std::optional<int> host = find_lab_host(record.plan, name);
  if (!host)
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "lab '" + record.plan.name + "' has no host '" + name + "'; it has h1 to " +
                      lab_host(record.plan.hosts - 1));
  if (state_of(record, *host) == LabHostState::kKilled)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "host " + name +
                      " has been killed; make a new lab: `paceline lab down`, `paceline lab up`");
  return *host;
}

Status run_batch(const std::string& program, const std::string& package, const std::string& flag,
                 const Batch& batch) {
  PACELINE_TRY_ASSIGN(const std::string path, find_system_program(program, package));
  return run_program({path, flag, "-"}, batch, kPatience);
}
Status run_ip(const Batch& batch) { return run_batch("ip", "iproute2", "-batch", batch); }
Status run_tc(const Batch& batch) { return run_batch("tc", "iproute2", "-batch", batch); }
Status run_nft(const Batch& batch) { return run_batch("nft", "nftables", "-f", batch); }

Status at_switch(const Target& target, Status (*run)(const Batch&), const Batch& batch) {
  return run_inside(target.record.keeper, switch_namespaces(target.record), kPatience,
                    [&] { return run(batch); });
}

// The host's mounts are not needed, and its own programs not trusted to be there.
Status at_host(const Target& target, Status (*run)(const Batch&), const Batch& batch) {
  return run_inside(target.init(), switch_namespaces(target.record) & ~CLONE_NEWNS, kPatience,
                    [&] { return run(batch); });
}

// How all that leaves devices of the host, and its ports, is carried, and in what units.
Status carry(const Target& target, bool in_units) {
  const auto set = [&](const auto& name_of) {
    return [&target, in_units, name_of] {
      for (const int rail : target.rails) PACELINE_TRY(carry_units(name_of(rail), in_units));
      return Status();
    };
  };
  PACELINE_TRY(run_inside(target.init(), switch_namespaces(target.record) & ~CLONE_NEWNS, kPatience,
                          set([](int rail) { return lab_interface(rail); })));
  return run_inside(target.record.keeper, switch_namespaces(target.record), kPatience,
                    set([&](int rail) { return lab_port(target.host, rail); }));
}

// What ip and tc are told at one end of a host's links.
struct Shapes {
  Batch units, disciplines;

  void add(const std::string& device, const std::string& discipline, std::int64_t rate_bits) {
    units += size_units(device, rate_bits);
    disciplines += discipline;
  }
};

// One way or both.
Status set_shapes(const Target& target, const LabFault& fault, const Shapes& egress,
                  const Shapes& ingress) {
  if (fault.egress) {
    PACELINE_TRY(at_host(target, run_ip, egress.units));
    PACELINE_TRY(at_host(target, run_tc, egress.disciplines));
  }
  if (!fault.ingress) return Status();
  PACELINE_TRY(at_switch(target, run_ip, ingress.units));
  return at_switch(target, run_tc, ingress.disciplines);
}

// The rates of each rail by `rate_of`.
template <class RateOf>
Status set_rates(const Target& target, const LabFault& fault, RateOf rate_of) {
  Shapes egress, ingress;
  for (const int rail : target.rails) {
    const std::int64_t rate = rate_of(rail);
    egress.add(lab_interface(rail), shape(lab_interface(rail), rate), rate);
    const std::string port = lab_port(target.host, rail);
    ingress.add(port, shape(port, rate), rate);
  }
  return set_shapes(target, fault, egress, ingress);
}

// As set_rates(), but only what goes to the other host, or comes from it.
Status slow_peer(const Target& target, const LabFault& fault) {
  const LabPlan& plan = target.record.plan;
  PACELINE_TRY_ASSIGN(const int peer, living_host(target.record, fault.peer));
  Shapes egress, ingress;
  for (const int rail : target.rails) {
    PeerShape rates{.link_bits = plan.rates_bits[static_cast<std::size_t>(rail)],
                    .peer = lab_address(peer, rail),
                    .peer_bits = fault.rate_bits};
    egress.add(lab_interface(rail), shape_peer(lab_interface(rail), rates), fault.rate_bits);
    rates.is_source = true;
    const std::string port = lab_port(target.host, rail);
    ingress.add(port, shape_peer(port, rates), fault.rate_bits);
  }
  return set_shapes(target, fault, egress, ingress);
}

Status drop_oneway(const Target& target) {
  Batch rules;
  for (const std::string& port : target.ports()) rules += drop_sent(port);
  return at_switch(target, run_nft, rules);
}

Status drop_some_of(const Target& target, int loss_thousandths) {
  Batch rules;
  for (const std::string& port : target.ports()) rules += drop_some(port, loss_thousandths);
  return at_switch(target, run_nft, rules);
}

// The switch's bridge drops what is too long for a port; what comes from there is the device's
// own affair.
Status shorten(const Target& target, int mtu) {
  PACELINE_TRY(at_switch(target, run_ip, set_port_mtu(target.ports(), mtu)));
  if (target.record.plan.delay == Duration::zero()) return Status();
  Batch rules;
  for (const std::string& port : target.ports()) rules += drop_long(port, mtu);
  return at_switch(target, run_nft, rules);
}

Status remove_filters(const Target& target) {
  Batch rules;
  for (const std::string& port : target.ports())
    for (const Filter filter : {Filter::kOneway, Filter::kLoss, Filter::kLong})
      rules += remove_filter(port, filter);
  return at_switch(target, run_nft, rules);
}

Status pause(const Target& target, bool paused, const Clock& clock) {
  const std::vector<std::string>& cgroups = target.record.cgroups;
  if (can_freeze(cgroups)) return freeze(cgroups, target.host, paused, clock);
  return paused ? stop_namespace(target.init()) : continue_namespace(target.init());
}

Status heal(const Target& target, const Clock& clock) {
  PACELINE_TRY(pause(target, false, clock));
  PACELINE_TRY(limit_cpus(target.record.cgroups, target.host, std::nullopt));
  const std::vector<std::string> ports = target.ports();
  PACELINE_TRY(at_switch(target, run_ip, set_ports(ports, true) + set_port_mtu(ports, kLabMtu)));
  PACELINE_TRY(set_rates(target, {}, [&target](int rail) {
    return target.record.plan.rates_bits[static_cast<std::size_t>(rail)];
  }));
  // Without nft nothing can have been dropped.
  return find_system_program("nft", "nftables").ok() ? remove_filters(target) : Status();
}

Status act(const Target& target, LabAction action, const LabFault& fault, const Clock& clock) {
  switch (action) {
    case LabAction::kSlow:
      if (!fault.peer.empty()) return slow_peer(target, fault);
      return set_rates(target, fault, [&fault](int) { return fault.rate_bits; });
    case LabAction::kCut:
      return at_switch(target, run_ip, set_ports(target.ports(), false));
    case LabAction::kOneway:
      return drop_oneway(target);
    case LabAction::kDrop:
      return drop_some_of(target, fault.loss_thousandths);
    case LabAction::kMtu:
      return shorten(target, fault.mtu);
    case LabAction::kHeal:
      return heal(target, clock);
    case LabAction::kPause:
      return pause(target, true, clock);
    case LabAction::kResume:
      return pause(target, false, clock);
    case LabAction::kKill:
      return kill_and_wait(target.init(), kPatience);
    case LabAction::kCpu:
      return limit_cpus(target.record.cgroups, target.host, fault.cpu_thousandths);
    default:
      return Status(Code::kInternal, Scope::kOperation, "this is not a fault");
  }
}

// Are packets judged one by one?
bool sorts_packets(LabAction action) {
  return action == LabAction::kDrop || action == LabAction::kMtu;
}

// All that reaches a host comes from the others. It stays so until everything is healed.
Status carry_everywhere(const LabRecord& record, bool in_units) {
  std::vector<int> rails(record.plan.rates_bits.size());
  std::iota(rails.begin(), rails.end(), 0);
  for (int host = 0; host < record.plan.hosts; ++host) {
    if (state_of(record, host) == LabHostState::kKilled) continue;
    PACELINE_TRY(carry({.record = record, .host = host, .rails = rails}, in_units)
                     .with_context("host " + lab_host(host)));
  }
  return Status();
}

Result<std::vector<int>> rails_of(const LabPlan& plan, const LabFault& fault) {
  std::vector<int> rails;
  for (int rail = 0; rail < plan.rails(); ++rail)
    if (!fault.rail || *fault.rail == rail) rails.push_back(rail);
  if (!rails.empty()) return rails;
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "lab '" + plan.name + "' has no rail " + std::to_string(*fault.rail + 1));
}

Result<std::vector<int>> hosts_of(const LabRecord& record, const LabFault& fault) {
  std::vector<int> hosts;
  if (fault.host.empty()) {
    for (int host = 0; host < record.plan.hosts; ++host)
      if (state_of(record, host) != LabHostState::kKilled) hosts.push_back(host);
    return hosts;
  }
  PACELINE_TRY_ASSIGN(const int host, living_host(record, fault.host));
  return std::vector<int>{host};
}

}  // namespace

LabHostState state_of(const LabRecord& record, int host) {
  const ProcessIdentity& init = record.inits[static_cast<std::size_t>(host)];
  if (identify(init.pid) != init) return LabHostState::kKilled;
  return is_frozen(record.cgroups, host) || is_stopped(init) ? LabHostState::kPaused
                                                             : LabHostState::kRuns;
}

Status make_trouble(const LabRecord& record, LabAction action, const LabFault& fault,
                    const Clock& clock) {
  PACELINE_TRY_ASSIGN(const std::vector<int> rails, rails_of(record.plan, fault));
  PACELINE_TRY_ASSIGN(const std::vector<int> hosts, hosts_of(record, fault));
  const bool heals_all = action == LabAction::kHeal && fault.host.empty() && !fault.rail;
  if (record.plan.carries_units() && (heals_all || sorts_packets(action)))
    PACELINE_TRY(carry_everywhere(record, heals_all));
  for (const int host : hosts) {
    const Target target{.record = record, .host = host, .rails = rails};
    PACELINE_TRY(act(target, action, fault, clock).with_context("host " + lab_host(host)));
  }
  return Status();
}

}  // namespace paceline::launcher
