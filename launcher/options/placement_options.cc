#include "launcher/options/placement_options.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "comm/base/try.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kUsage =
    "usage: paceline run [options] [placement] [--] program [arguments…]\n"
    "Where ranks go, and what they are bound to.\n"
    "\n"
    "Left alone, each host says what it is, and ranks go where their communication takes the\n"
    "least time: a GPU each, in the order of the fastest ring; the NIC and the cores near it, all\n"
    "cores in equal shares; memory of its own NUMA node first. Ranks learn of it by\n"
    "OMP_NUM_THREADS, CUDA_VISIBLE_DEVICES (HIP_VISIBLE_DEVICES), NCCL_IB_HCA and\n"
    "UCX_NET_DEVICES, unless you have set them.\n"
    "\n";
constexpr std::string_view kMeanings =
    "\n"
    "UNIT is slot, hwthread, core, l1cache, l2cache, l3cache, numa, package (socket) or node,\n"
    "with the meaning that mpirun gives them; modifiers stand behind a colon: package:PE=4,\n"
    "ppr:2:numa, core:overload-allowed. Options that state a mapping replace the search for the\n"
    "cheapest one.\n"
    "\n"
    "GROUPS cuts ranks into tensor, pipeline, data parallel and other groups, the innermost\n"
    "first: tp=4,pp=2,dp= (one size may be left out). Groups that talk the most stay inside a\n"
    "host.\n"
    "\n"
    "Examples:\n"
    "  paceline run -n 8 --dry-run -- ./train           what would go where, and why\n"
    "  paceline run -n 8 --report-bindings -- ./train   what is, by the kernel's account\n"
    "  paceline run -n 8192 --dry-run --cluster cluster.json --groups tp=8,dp=\n"
    "  paceline run -n 8 --dry-run --save-plan plan.json -- ./train\n"
    "  paceline run -n 8 --plan plan.json -- ./train    the same again, or as you have edited it\n"
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
    {"--map-by", "UNIT|ppr:N:UNIT", "Ranks on one unit after the other, instead of by cost",
     [](Text value, Spec& into) { return topology::parse_map_by(value, into.rules); }},
    {"--rank-by", "UNIT", "How mapped ranks are numbered",
     [](Text value, Spec& into) { return topology::parse_rank_by(value, into.rules); }},
    {"--bind-to", "UNIT|none", "What each rank may run on",
     [](Text value, Spec& into) { return topology::parse_bind_to(value, into.rules); }},
    {"--cpus-per-rank", "N", "N cores for each rank",
     [](Text value, Spec& into) { return use_count(value, into.rules.cpus_per_rank); }},
    {"--groups", "GROUPS", "Who talks with whom: tp=4,pp=2,dp=",
     [](Text value, Spec& into) {
       into.groups = value;
       return Status();
     }},
    {"--servers", "N", "So many parameter servers, too (with --dry-run)",
     [](Text value, Spec& into) { return use_count(value, into.servers); }},
    {"--servers-on", "WHERE", "spread (default), dedicated, or hosts: a,b", use_servers_on},
    {"--report-bindings", "", "Say what each rank is bound to, as the kernel has it",
     [](Text, Spec& into) {
       into.report_bindings = true;
       return Status();
     }},
    {"--dry-run", "", "Print the plan, and start nothing",
     [](Text, Spec& into) {
       into.dry_run = true;
       return Status();
     }},
    {"--save-plan", "FILE", "Write the plan as JSON; - is standard output",
     [](Text value, Spec& into) {
       into.save_plan = value;
       return Status();
     }},
    {"--plan", "FILE", "Follow that plan; it is refused where it does not fit",
     [](Text value, Spec& into) {
       into.plan_file = value;
       return Status();
     }},
    {"--measured", "FILE", "Rates between hosts, as paceline check --json has written them",
     [](Text value, Spec& into) {
       into.measured_file = value;
       return Status();
     }},
    {"--cluster", "FILE", "Hosts as described there (with --dry-run)",
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
    return usage_error("--cluster describes hosts that need not be there; it goes with --dry-run");
  if (!placement.plan_file.empty() && placement.rules.is_any())
    return usage_error(
        "--plan says where every rank goes; --map-by, --rank-by, --bind-to and --cpus-per-rank do, "
        "too");
  if (placement.rules.map_by && !placement.groups.empty())
    return usage_error("--map-by and --groups both say where ranks go; give one of them");
  if (placement.servers > 0 && !placement.dry_run)
    return usage_error("--servers goes with --dry-run: there are no servers yet that could start");
  if (placement.servers_on != topology::ServersOn::kSpread && placement.servers == 0)
    return usage_error("--servers-on goes with --servers");
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
