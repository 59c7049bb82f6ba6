#include "launcher/head/host_finder.h"

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/channel/build_name.h"
#include "launcher/head/fault_orders.h"
#include "launcher/head/pair_check.h"
#include "launcher/head/rank_seats.h"

namespace paceline::launcher {
namespace {

std::string names_of(const std::vector<HostAgent>& agents) {
  std::vector<std::string> names;
  for (const HostAgent& agent : agents) names.push_back(agent.start.host());
  return (names.size() == 1 ? "host " : "hosts ") + joined(names, ", ");
}

}  // namespace

Result<FoundHosts> HostFinder::find() {
  const Shares& shares = inputs_.hosts.shares;
  PACELINE_TRY(start_agents(shares, options_.faults));
  if (options_.is_cancelled())
    return Status(Code::kCancelled, Scope::kOperation, "the start of the job was cancelled");
  PACELINE_TRY_ASSIGN(FoundHosts found, prepare(shares, options_.faults));
  PACELINE_TRY(show_plan(found.seating, job_.placement));
  PACELINE_TRY(give_faults(inputs_, job_, found.agents, options_.say));
  settle(found);
  return found;
}

Status HostFinder::start_agents(const Shares& shares, HostFaults& faults) {
  const auto said = [this](const std::string& host, std::string_view line) {
    options_.say("host " + host + ": " + std::string(line));
  };
  return agents_.start_elsewhere(shares, job_,
                                 {.version = std::string(build_name()),
                                  .job_id = options_.start.job_id(),
                                  .ports = inputs_.ports,
                                  .said = said},
                                 faults);
}

Result<FoundHosts> HostFinder::prepare(const Shares& shares, HostFaults& faults) {
  PACELINE_TRY_ASSIGN(std::vector<HostAgent> agents,
                      agents_.take(shares, options_.start, options_.folder));
  PACELINE_TRY(check_pairs(
      loop_, agents,
      {.choice = inputs_.net, .ports = inputs_.ports, .warn = options_.say, .faults = faults}));
  if (agents.size() > 1) options_.timings.came(Stage::kWays, loop_.clock().now());
  PACELINE_TRY_ASSIGN(Seating seating,
                      seat_job(loop_, agents, job_, shares,
                               {.files = inputs_.files, .warn = options_.say, .faults = faults}));
  follow_plan(seating.cluster, seating.plan, agents);
  return FoundHosts{.agents = std::move(agents), .seating = std::move(seating)};
}

void HostFinder::settle(FoundHosts& found) {
  agents_.release_others(found.agents);
  options_.timings.came(Stage::kMachines, loop_.clock().now());
}

// ---- Restarts ------------------------------------------------------------------------------

// Each attempt that fails sets a host aside, so they come to an end.
Result<FoundHosts> HostFinder::replace_lost(const JobState& state) {
  const TimePoint now = loop_.clock().now();
  set_lost_aside(state, now);
  for (;;) {
    PACELINE_TRY_ASSIGN(const Shares shares, shares_left(now));
    HostFaults faults;
    Status status = start_agents(shares, faults);
    if (status.ok() && set_lost_aside(state, now)) continue;
    if (status.ok()) {
      Result<FoundHosts> found = prepare(shares, faults);
      status = found.status();
      if (found.ok()) {
        give_faults_again(inputs_, state.epoch + 1 - inputs_.first_epoch(), found->agents,
                          options_.say);
        settle(*found);
        options_.say("the ranks go to " + names_of(found->agents) +
                     "; set aside: " + aside_.text(now));
        return found;
      }
    }
    if (status.code() == Code::kCancelled || faults.all().empty()) return status;
    options_.say(std::string(status.text()));
    for (const HostFault& fault : faults.all()) set_aside(fault, now);
  }
}

// Whether there are any beside those that are set aside.
bool HostFinder::set_lost_aside(const JobState& state, TimePoint now) {
  bool is_any = false;
  for (const HostState& host : state.hosts) {
    if (!host.is_lost || aside_.has(host.name, now)) continue;
    is_any = true;
    set_aside(
        {.host = host.name, .why = host.why_lost.empty() ? "the agent is gone" : host.why_lost},
        now);
  }
  return is_any;
}

void HostFinder::set_aside(const HostFault& fault, TimePoint now) {
  aside_.add(fault.host, fault.why, now + job_.restarts.cool_down);
  options_.faults.add(fault);
  agents_.release(fault.host);
}

Result<HostFinder::Shares> HostFinder::shares_left(TimePoint now) const {
  if (inputs_.hosts.candidates.empty())
    return Status(Code::kUnavailable, Scope::kGroup,
                  "the ranks have their hosts from --plan, so no other host can take their place");
  const auto is_out = [&](const std::string& host) {
    return aside_.has(host, now) || !agents_.is_possible(host);
  };
  Result<Shares> shares = share_without(job_, inputs_.hosts, is_out);
  if (shares.ok()) return shares;
  return Status(Code::kUnavailable, Scope::kGroup,
                std::string(shares.status().text()) + "; set aside: " + aside_.text(now));
}

}  // namespace paceline::launcher
