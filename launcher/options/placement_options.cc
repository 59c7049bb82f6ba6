#include "launcher/options/placement_options.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "comm/base/try.h"
#include "launcher/options/option_values.h"
#include "topology/placement/rules/mapping_counts.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kUsage =
    "usage: paceline run [options] [placement] [--] program [arguments…]\n"
    "Placement of ranks on hosts, and their binding to CPUs and devices.\n"
    "\n"
    "By default each host reports its hardware, and ranks are placed where their communication\n"
    "takes the least time. Each rank gets a GPU, in the order of the fastest ring, and the NIC\n"
    "and cores near it. Cores are divided equally. Memory comes first from the rank's own NUMA\n"
    "node. Ranks get the result in OMP_NUM_THREADS, CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES),\n"
    "NCCL_IB_HCA and UCX_NET_DEVICES, unless you have set them.\n"
    "\n";
constexpr std::string_view kMeanings =
    "\n"
    "UNIT is slot, hwthread, core, l1cache, l2cache, l3cache, numa, package (socket) or node, as\n"
    "in Open MPI's mpirun. An option that states a mapping replaces the search for the cheapest\n"
    "placement. Modifiers follow a colon, as in package:PE=4. --map-by has PE=N, span,\n"
    "oversubscribe, nooversubscribe. --rank-by has span, fill. --bind-to has overload-allowed,\n"
    "no-overload.\n"
    "\n"
    "GROUPS divides ranks into tensor, pipeline, data parallel and other groups, the innermost\n"
    "first: tp=4,pp=2,dp= (one size may be left out). Groups with the most traffic stay inside a\n"
    "host.\n"
    "\n"
    "Examples:\n"
    "  paceline run -n 8 --dry-run -- ./train           print the plan and its reasons\n"
    "  paceline run -n 8 --report-bindings -- ./train   print the bindings as the kernel has them\n"
    "  paceline run -n 8192 --dry-run --cluster cluster.json --groups tp=8,dp=\n"
    "  paceline run -n 8 --dry-run --save-plan plan.json -- ./train\n"
    "  paceline run -n 8 --plan plan.json -- ./train    use a saved plan, edited or not\n"
    "  paceline run -n 4 --map-by numa --bind-to core -- ./solver\n";

Status use_servers_on(const std::string& value, PlacementSpec& into) {
  into.servers_on = value == "spread"      ? topology::ServersOn::kSpread
                    : value == "dedicated" ? topology::ServersOn::kDedicated
                                           : topology::ServersOn::kHosts;
  into.server_hosts.clear();
  if (into.servers_on != topology::ServersOn::kHosts) return Status();
  for (std::size_t at = 0; at <= value.size();) {
    const std::size_t comma = std::min(value.find(',', at), value.size());
    if (comma == at) return usage_error("'" + value + "' has an empty host name");
    into.server_hosts.push_back(value.substr(at, comma - at));
    at = comma + 1;
  }
  return Status();
}

Status use_count(const std::string& value, int& into) {
  PACELINE_TRY_ASSIGN(into, parse_count(value));
  return Status();
}

using Spec = PlacementSpec;
using Text = const std::string&;

constexpr PlacementOption kOptions[] = {
    {"--map-by", "UNIT|ppr:N:UNIT", "Place ranks on one unit after the other, instead of by cost",
     [](Text value, Spec& into) { return topology::parse_map_by(value, into.rules); }},
    {"--rank-by", "UNIT", "Order in which mapped ranks are numbered",
     [](Text value, Spec& into) { return topology::parse_rank_by(value, into.rules); }},
    {"--bind-to", "UNIT|none", "Unit that each rank is bound to",
     [](Text value, Spec& into) { return topology::parse_bind_to(value, into.rules); }},
    {"--cpus-per-rank", "N", "Number of cores per rank",
     [](Text value, Spec& into) { return use_count(value, into.rules.cpus_per_rank); }},
    {"--groups", "GROUPS", "Groups of ranks that communicate: tp=4,pp=2,dp=",
     [](Text value, Spec& into) {
       into.groups = value;
       return Status();
     }},
    {"--servers", "N", "Number of parameter servers (only with --dry-run)",
     [](Text value, Spec& into) { return use_count(value, into.servers); }},
    {"--servers-on", "WHERE", "Hosts of servers: spread (default), dedicated, or a list: a,b",
     use_servers_on},
    {"--report-bindings", "", "Print the CPUs of each rank, as the kernel reports them",
     [](Text, Spec& into) {
       into.report_bindings = true;
       return Status();
     }},
    {"--dry-run", "", "Print the plan without starting ranks",
     [](Text, Spec& into) {
       into.dry_run = true;
       return Status();
     }},
    {"--save-plan", "FILE", "Write the plan as JSON; - is standard output",
     [](Text value, Spec& into) {
       into.save_plan = value;
       return Status();
     }},
    {"--plan", "FILE", "Use a saved plan; an error if the hosts differ from it",
     [](Text value, Spec& into) {
       into.plan_file = value;
       return Status();
     }},
    {"--measured", "FILE", "Use the rates between hosts from paceline check --json",
     [](Text value, Spec& into) {
       into.measured_file = value;
       return Status();
     }},
    {"--cluster", "FILE", "Read a description of the hosts (only with --dry-run)",
     [](Text value, Spec& into) {
       into.cluster_file = value;
       return Status();
     }},
};

}  // namespace

std::span<const PlacementOption> placement_options() { return kOptions; }

Status check_placement(const JobSpec& job) {
  const PlacementSpec& placement = job.placement;
  if (!placement.cluster_file.empty() && !placement.dry_run)
    return usage_error("--cluster describes hosts that need not exist; use it with --dry-run");
  if (!placement.plan_file.empty() && placement.rules.is_any())
    return usage_error(
        "--plan states the place of every rank; leave out --map-by, --rank-by, --bind-to and "
        "--cpus-per-rank");
  if (placement.rules.map_by && !placement.groups.empty())
    return usage_error("--map-by and --groups both place ranks; use one of them");
  if (placement.servers > 0 && !placement.dry_run)
    return usage_error("--servers needs --dry-run: Paceline cannot start servers yet");
  if (placement.servers_on != topology::ServersOn::kSpread && placement.servers == 0)
    return usage_error("--servers-on needs --servers");
  const bool places_all = !placement.groups.empty() || !placement.plan_file.empty() ||
                          placement.rules.rank_by ||
                          topology::counts_need_machines(placement.rules);
  if (job.has_own_hosts() && places_all)
    return usage_error(
        "-H of a program of its own cannot be combined with --groups, --plan, --rank-by, or a "
        "--map-by that depends on the machines");
  return Status();
}

std::string placement_help() {
  std::string text(kUsage);
  for (const PlacementOption& option : placement_options()) {
    std::string row = std::string("  ").append(option.name).append(" ").append(option.form);
    row.resize(std::max<std::size_t>(row.size() + 1, 28), ' ');
    text.append(row).append(option.meaning).append("\n");
  }
  return text.append(kMeanings);
}

}  // namespace paceline::launcher
