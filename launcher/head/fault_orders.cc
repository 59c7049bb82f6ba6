#include "launcher/head/fault_orders.h"

#include <algorithm>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

bool has_rank(const HostAgent& agent, int rank) {
  return std::ranges::count(agent.start.ranks(), static_cast<std::uint32_t>(rank)) > 0;
}

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
  const auto struck = std::ranges::find_if(agents, [&fault](const HostAgent& agent) {
    return fault.rank ? has_rank(agent, *fault.rank) : agent.start.host() == fault.host;
  });
  if (struck == agents.end() && fault.rank)
    return usage_error("the job has no rank " + std::to_string(*fault.rank));
  if (struck == agents.end())
    return usage_error("no rank of the job runs on host " + printable(fault.host));
  if (fault.operation && !has_rank(*struck, *fault.watched_rank))
    return usage_error("rank " + std::to_string(*fault.watched_rank) + " does not run on host " +
                       struck->start.host() + ", which is to be struck at one of its operations");
  *struck->start.add_faults() = order_of(fault);
  return {};
}

}  // namespace

Status give_faults(const std::vector<FaultSpec>& faults, const std::string& file,
                   std::vector<HostAgent>& agents) {
  for (const FaultSpec& fault : faults) {
    const Status given = give_fault(fault, agents);
    if (!given.ok())
      return usage_error(file + ", line " + std::to_string(fault.line) + ": " +
                         std::string(given.text()));
  }
  return {};
}

}  // namespace paceline::launcher
