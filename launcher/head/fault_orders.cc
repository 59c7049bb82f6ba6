#include "launcher/head/fault_orders.h"

#include <algorithm>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

bool has_rank(const HostAgent& agent, int rank) {
  return std::ranges::count(agent.start.ranks(), static_cast<std::uint32_t>(rank)) > 0;
}

static_assert(static_cast<int>(FaultKind::kKill) == messages::Fault::KILL);
static_assert(static_cast<int>(FaultKind::kStop) == messages::Fault::STOP);
static_assert(static_cast<int>(FaultKind::kSlow) == messages::Fault::SLOW);
static_assert(static_cast<int>(FaultKind::kSignal) == messages::Fault::SIGNAL);
static_assert(static_cast<int>(FaultKind::kFill) == messages::Fault::FILL);
static_assert(static_cast<int>(FaultKind::kExit) == messages::Fault::EXIT);
static_assert(static_cast<int>(FaultKind::kDelay) == messages::Fault::DELAY);
static_assert(static_cast<int>(FaultKind::kDrop) == messages::Fault::DROP);

messages::Fault order_of(const FaultSpec& fault, std::uint32_t first_epoch) {
  messages::Fault order;
  order.set_name("line " + std::to_string(fault.line) + ": " + fault.text);
  order.set_restart(first_epoch + fault.restart);
  order.set_after_ns(fault.after.count());
  if (fault.operation) order.set_operation(*fault.operation);
  order.set_watched_rank(static_cast<std::uint32_t>(fault.watched_rank.value_or(0)));
  order.set_kind(static_cast<messages::Fault::Kind>(fault.kind));
  if (fault.rank) order.set_rank(static_cast<std::uint32_t>(*fault.rank));
  order.set_lasts_ns(fault.lasts.count());
  order.set_percent(fault.percent);
  order.set_signal(fault.signal);
  order.set_path(fault.path);
  order.set_exit_code(fault.exit_code);
  order.set_delay_ns(fault.delay.count());
  return order;
}

using Agents = std::vector<HostAgent>;
using Tell = std::function<void(const std::string&)>;

Result<Agents::iterator> agent_of(const std::string& host, Agents& agents) {
  const auto its = std::ranges::find_if(
      agents, [&host](const HostAgent& agent) { return agent.start.host() == host; });
  if (its != agents.end()) return its;
  return usage_error("no rank of the job runs on host " + printable(host));
}

Result<Agents::iterator> agent_of(int rank, Agents& agents) {
  const auto its = std::ranges::find_if(
      agents, [rank](const HostAgent& agent) { return has_rank(agent, rank); });
  if (its != agents.end()) return its;
  return usage_error("the job has no rank " + std::to_string(rank));
}

Result<std::string> address_of_other(const messages::Start& from, const std::string& other,
                                     Agents& agents) {
  PACELINE_TRY_ASSIGN(const auto to, agent_of(other, agents));
  const std::string& address = to->start.address();
  if (address != from.address()) return address;
  return usage_error("hosts " + from.host() + " and " + other + " have the same address, " +
                     address + ", so no link connects them");
}

Status give_fault(const FaultSpec& fault, std::uint32_t first_epoch, Agents& agents) {
  PACELINE_TRY_ASSIGN(const auto its_host,
                      fault.rank ? agent_of(*fault.rank, agents) : agent_of(fault.host, agents));
  if (fault.operation && !has_rank(*its_host, *fault.watched_rank))
    return usage_error("rank " + std::to_string(*fault.watched_rank) + " does not run on host " +
                       its_host->start.host() +
                       ", so the fault cannot happen at one of its operations");
  messages::Fault order = order_of(fault, first_epoch);
  if (!fault.to_host.empty()) {
    PACELINE_TRY_ASSIGN(*order.mutable_to_address(),
                        address_of_other(its_host->start, fault.to_host, agents));
  }
  *its_host->start.add_faults() = std::move(order);
  if (!fault.both_ways) return {};
  FaultSpec back = fault;
  std::swap(back.host, back.to_host);
  back.both_ways = false;
  return give_fault(back, first_epoch, agents);
}

std::string waiting_text(const FaultSpec& fault, const Status& why) {
  return "fault, line " + std::to_string(fault.line) +
         ": it happens only after a change of hosts: " + std::string(why.text());
}

// In a restart its hosts may have ranks that they do not have at first.
bool may_come_true(const FaultSpec& fault, const JobSpec& job, const SharedHosts& hosts) {
  const auto may_have_ranks = [&](const std::string& host) {
    return host.empty() || is_candidate(job, hosts, host);
  };
  return !fault.rank && may_have_ranks(fault.host) && may_have_ranks(fault.to_host);
}

}  // namespace

void give_faults_again(const JobInputs& inputs, std::uint32_t coming,
                       std::vector<HostAgent>& agents, const Tell& say) {
  for (const FaultSpec& fault : inputs.faults) {
    if (fault.restart < coming) continue;
    const Status given = give_fault(fault, inputs.first_epoch(), agents);
    if (!given.ok()) say(waiting_text(fault, given));
  }
}

Status give_faults(const JobInputs& inputs, const JobSpec& job, std::vector<HostAgent>& agents,
                   const Tell& say) {
  for (const FaultSpec& fault : inputs.faults) {
    Status given = give_fault(fault, inputs.first_epoch(), agents);
    if (!given.ok() && fault.restart > 0 && may_come_true(fault, job, inputs.hosts)) {
      say(waiting_text(fault, given));
      given = Status();
    }
    if (std::cmp_greater(fault.restart, job.restarts.max_restarts))
      given = usage_error("there are at most " + std::to_string(job.restarts.max_restarts) +
                          " restarts (--max-restarts)");
    if (!given.ok())
      return usage_error(job.faults_file + ", line " + std::to_string(fault.line) + ": " +
                         std::string(given.text()));
  }
  return {};
}

}  // namespace paceline::launcher
