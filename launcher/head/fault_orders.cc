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

messages::Fault order_of(const FaultSpec& fault) {
  messages::Fault order;
  order.set_name("line " + std::to_string(fault.line) + ": " + fault.text);
  order.set_restart(fault.restart);
  order.set_after_ns(fault.after.count());
  if (fault.operation) order.set_operation(*fault.operation);
  order.set_watched_rank(static_cast<std::uint32_t>(fault.watched_rank.value_or(0)));
  order.set_kind(static_cast<messages::Fault::Kind>(fault.kind));
  if (fault.rank) order.set_rank(static_cast<std::uint32_t>(*fault.rank));
  order.set_lasts_ns(fault.lasts.count());
  order.set_percent(static_cast<std::uint32_t>(fault.percent));
  order.set_signal(fault.signal);
  order.set_path(fault.path);
  return order;
}

Status give_fault(const FaultSpec& fault, std::vector<HostAgent>& agents) {
  const auto its_host = std::ranges::find_if(agents, [&fault](const HostAgent& agent) {
    return fault.rank ? has_rank(agent, *fault.rank) : agent.start.host() == fault.host;
  });
  if (its_host == agents.end() && fault.rank)
    return usage_error("the job has no rank " + std::to_string(*fault.rank));
  if (its_host == agents.end())
    return usage_error("no rank of the job runs on host " + printable(fault.host));
  if (fault.operation && !has_rank(*its_host, *fault.watched_rank))
    return usage_error("rank " + std::to_string(*fault.watched_rank) + " does not run on host " +
                       its_host->start.host() +
                       ", so the fault cannot happen at one of its operations");
  *its_host->start.add_faults() = order_of(fault);
  return {};
}

}  // namespace

Status give_faults(const std::vector<FaultSpec>& faults, const JobSpec& job,
                   std::vector<HostAgent>& agents) {
  for (const FaultSpec& fault : faults) {
    Status given = give_fault(fault, agents);
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
