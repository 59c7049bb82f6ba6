#include "launcher/head/seating.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/head/job_hosts.h"
#include "launcher/head/job_plan.h"
#include "launcher/head/machine_survey.h"
#include "launcher/head/measured_ways.h"
#include "launcher/options/option_values.h"
#include "launcher/system/new_file.h"
#include "launcher/system/system.h"
#include "topology/placement/host/core_cut.h"
#include "topology/read/cluster_json.h"
#include "topology/read/plan_json.h"
#include "topology/read/read_host.h"
#include "topology/render/plan_text.h"

namespace paceline::launcher {
namespace {

using topology::Cluster;
using Warn = std::function<void(const std::string&)>;

std::vector<int> slots_of(const std::vector<HostShare>& shares) {
  std::vector<int> slots;
  for (const HostShare& share : shares) slots.push_back(share.slots);
  return slots;
}

std::vector<int> ranks_of(const std::vector<HostShare>& shares) {
  std::vector<int> ranks;
  for (const HostShare& share : shares) ranks.push_back(share.ranks);
  return ranks;
}

std::vector<std::vector<int>> by_program(const std::vector<HostShare>& shares) {
  std::vector<std::vector<int>> all;
  for (const HostShare& share : shares)
    if (!share.by_program.empty()) all.push_back(share.by_program);
  return all;
}

// Something that would be lost if the hosts could not be known.
bool is_stated(const PlacementSpec& placement) {
  return placement.rules.is_any() || !placement.groups.empty() || !placement.plan_file.empty() ||
         !placement.measured_file.empty() || placement.dry_run || placement.report_bindings;
}

// Its ranks may leave CPUs to other jobs.
bool is_partial(const PlacementSpec& placement) {
  return placement.rules.is_any() || !placement.plan_file.empty();
}

// Those that no more of the others have than that.
CpuSet taken_at_most(const CpuSet& cpus, const std::vector<CpuSet>& others, std::size_t most) {
  CpuSet left;
  for (const std::size_t cpu : cpus.cpus()) {
    const auto count =
        std::ranges::count_if(others, [&](const CpuSet& one) { return one.has(cpu); });
    if (std::cmp_less_equal(count, most)) left.add(cpu);
  }
  return left;
}

// Of each host the CPUs that the fewest other jobs are bound to, as long as they are enough.
Cluster left_by_others(const SurveyedCluster& found, const std::vector<HostShare>& shares,
                       int cores_each) {
  Cluster cluster = found.cluster;
  for (std::size_t i = 0; i < cluster.hosts.size(); ++i) {
    CpuSet& cpus = cluster.hosts[i].cpus;
    const auto cores = topology::all_cores(machine_of(cluster, static_cast<int>(i)));
    const int wanted = shares[i].ranks * std::max(1, cores_each);
    for (std::size_t most = 0; most < found.taken[i].size(); ++most) {
      CpuSet left = taken_at_most(cpus, found.taken[i], most);
      if (topology::count_cores(cores, left) < wanted) continue;
      cpus = std::move(left);
      break;
    }
  }
  return cluster;
}

// Whoever has said where ranks go hears where they meet those of other jobs.
void tell_of_others(const SurveyedCluster& found, const topology::Plan& plan, const Warn& warn) {
  std::vector<CpuSet> shared(found.taken.size());
  for (const topology::Placed& rank : plan.ranks) {
    const auto host = static_cast<std::size_t>(rank.host);
    for (const CpuSet& other : found.taken[host]) shared[host].add(rank.seat.cpus & other);
  }
  for (std::size_t i = 0; i < shared.size(); ++i)
    if (!shared[i].is_empty())
      warn("warning: host " + found.cluster.hosts[i].name +
           ": ranks of this job are bound to CPUs to which another job of yours is bound: " +
           shared[i].to_text());
}

Result<NamedHosts> named_or_all(const JobSpec& job, const topology::DescribedCluster& described) {
  if (!job.hosts.empty() || !job.host_file.empty()) return named_hosts(job);
  NamedHosts all{.hosts = {}, .source = HostSource::kFile};
  for (std::size_t i = 0; i < described.cluster.hosts.size(); ++i)
    all.hosts.push_back({.name = described.cluster.hosts[i].name, .slots = described.slots[i]});
  return all;
}

Result<Cluster> hosts_of_shares(const Cluster& cluster, const std::vector<HostShare>& shares,
                                const std::string& file) {
  const auto place_of = topology::places_by_name(cluster);
  std::vector<int> places;
  for (const HostShare& share : shares) {
    const auto place = place_of.find(share.host);
    if (place == place_of.end())
      return usage_error(file + ": it does not describe host " + printable(share.host));
    places.push_back(place->second);
  }
  return with_hosts(cluster, places);
}

}  // namespace

Result<PlacementFiles> read_placement_files(const PlacementSpec& placement) {
  PlacementFiles files;
  if (!placement.plan_file.empty()) {
    PACELINE_TRY_ASSIGN(topology::NamedText file,
                        topology::read_text_file(placement.plan_file, topology::kMostPlanBytes));
    files.plan = std::move(file.text);
  }
  if (!placement.measured_file.empty()) {
    PACELINE_TRY_ASSIGN(topology::NamedText file,
                        topology::read_text_file(placement.measured_file));
    files.measurements = std::move(file.text);
  }
  return files;
}

Result<Seating> seat_job(EventLoop& loop, std::vector<HostAgent>& agents, const JobSpec& job,
                         const std::vector<HostShare>& shares, const SeatingOptions& options) {
  const PlacementSpec& said = job.placement;
  HostFaults faults;
  Result<SurveyedCluster> found = survey_machines(loop, agents, is_partial(said), faults);
  if (!found.ok()) {
    if (found.status().code() != Code::kUnavailable || is_stated(said)) {
      for (const HostFault& fault : faults.all()) options.faults.add(fault);
      return found.status();
    }
    options.warn("warning: ranks are not bound: " + found.status().text());
    return Seating{.cluster = {},
                   .plan = with_programs(unbound_plan(ranks_of(shares)), by_program(shares), said)};
  }
  PACELINE_TRY(add_measured_ways(found->cluster, said.measured_file, options.files.measurements));
  const Cluster free = said.plan_file.empty()
                           ? left_by_others(*found, shares, said.rules.cpus_per_rank)
                           : found->cluster;
  const PlanInputs inputs{.slots = slots_of(shares), .by_program = by_program(shares)};
  PACELINE_TRY_ASSIGN(topology::Plan plan, plan_job(free, inputs, job, options.files.plan));
  if (is_stated(said)) tell_of_others(*found, plan, options.warn);
  return Seating{.cluster = std::move(found->cluster), .plan = std::move(plan)};
}

Result<Seating> seat_described_job(JobSpec job, const PlacementFiles& files) {
  const PlacementSpec& said = job.placement;
  PACELINE_TRY_ASSIGN(const topology::NamedText text, topology::read_text_file(said.cluster_file));
  PACELINE_TRY_ASSIGN(const topology::DescribedCluster described,
                      topology::read_cluster(text, topology::read_host));
  PACELINE_TRY_ASSIGN(const NamedHosts named, named_or_all(job, described));
  PACELINE_TRY(count_ranks(job, named.hosts, named.source));
  PACELINE_TRY_ASSIGN(const std::vector<HostShare> shares, share_job(job, named.hosts));
  PACELINE_TRY_ASSIGN(Cluster cluster,
                      hosts_of_shares(described.cluster, shares, said.cluster_file));
  PACELINE_TRY(add_measured_ways(cluster, said.measured_file, files.measurements));
  const PlanInputs inputs{.slots = slots_of(shares), .by_program = by_program(shares)};
  PACELINE_TRY_ASSIGN(topology::Plan plan, plan_job(cluster, inputs, job, files.plan));
  return Seating{.cluster = std::move(cluster), .plan = std::move(plan)};
}

Status show_plan(const Seating& seating, const PlacementSpec& placement) {
  if (!placement.save_plan.empty()) {
    const std::string json = topology::plan_json_text(seating.cluster, seating.plan);
    if (placement.save_plan == "-") return print_out(json);
    PACELINE_TRY_ASSIGN(const std::unique_ptr<NewFile> file, NewFile::make(placement.save_plan));
    PACELINE_TRY(file->keep(json));
  }
  return placement.dry_run ? print_out(topology::plan_text(seating.cluster, seating.plan))
                           : Status();
}

}  // namespace paceline::launcher
