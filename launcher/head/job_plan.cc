#include "launcher/head/job_plan.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <numeric>
#include <utility>

#include "comm/base/try.h"
#include "launcher/options/option_values.h"
#include "topology/placement/cost/cost.h"
#include "topology/placement/place.h"
#include "topology/placement/rules/mapping_counts.h"
#include "topology/read/plan_json.h"

namespace paceline::launcher {
namespace {

using topology::Cluster;
using topology::JobShape;
using topology::Plan;

Result<JobShape> shape_of(const JobSpec& job) {
  const PlacementSpec& said = job.placement;
  JobShape shape{.ranks = job.ranks(),
                 .dimensions = {},
                 .cores_each = said.rules.cpus_per_rank,
                 .servers = said.servers,
                 .servers_on = said.servers_on,
                 .server_hosts = said.server_hosts};
  auto dimensions = topology::parse_dimensions(said.groups, shape.ranks);
  if (!dimensions.ok()) return dimensions.status().with_context("--groups");
  shape.dimensions = *std::move(dimensions);
  return shape;
}

void put_costs(const Cluster& cluster, const JobShape& shape, Plan& plan) {
  plan.parts = topology::cost_parts(cluster, shape, plan.ranks, plan.servers);
  plan.cost_us = std::accumulate(plan.parts.begin(), plan.parts.end(), 0.0,
                                 [](double sum, const auto& part) { return sum + part.us; });
}

Result<Plan> by_rules(const Cluster& cluster, const JobShape& shape, const std::vector<int>& slots,
                      const topology::MappingRules& rules) {
  PACELINE_TRY_ASSIGN(Plan plan, topology::map_ranks(cluster, shape, slots, rules));
  put_costs(cluster, shape, plan);
  return plan;
}

Result<Plan> from_file(const Cluster& cluster, const JobSpec& job, const std::string& text) {
  const std::string& name = job.placement.plan_file;
  PACELINE_TRY_ASSIGN(Plan plan, topology::read_plan({.name = name, .text = text}, cluster));
  if (std::cmp_not_equal(plan.ranks.size(), job.ranks()))
    return usage_error(name + ": the plan has " + std::to_string(plan.ranks.size()) +
                       " ranks, but the job has " + std::to_string(job.ranks()));
  // It may have been edited since.
  PACELINE_TRY_ASSIGN(const JobShape shape, shape_of(job));
  put_costs(cluster, shape, plan);
  return plan;
}

Result<Plan> plan_together(const Cluster& cluster, const JobShape& shape,
                           const std::vector<int>& slots, const topology::MappingRules& rules) {
  if (rules.is_mapping()) return by_rules(cluster, shape, slots, rules);
  PACELINE_TRY_ASSIGN(Plan plan, topology::place(cluster, shape, slots));
  if (rules.is_any()) PACELINE_TRY(topology::bind_ranks(cluster, rules, plan));
  return plan;
}

// The host of each rank of a program.
std::vector<std::size_t> hosts_of_program(const std::vector<std::vector<int>>& by_program,
                                          std::size_t program, bool in_turn) {
  std::vector<std::pair<int, std::size_t>> ranks;  // round and host
  for (std::size_t host = 0; host < by_program.size(); ++host)
    for (int i = 0; i < by_program[host][program]; ++i) ranks.emplace_back(in_turn ? i : 0, host);
  std::ranges::stable_sort(ranks);
  std::vector<std::size_t> hosts;
  for (const auto& [round, host] : ranks) hosts.push_back(host);
  return hosts;
}

}  // namespace

Result<Plan> plan_job(const Cluster& cluster, const PlanInputs& inputs, const JobSpec& job,
                      const std::string& plan_text) {
  if (!job.placement.plan_file.empty()) return from_file(cluster, job, plan_text);
  PACELINE_TRY_ASSIGN(const JobShape shape, shape_of(job));
  PACELINE_TRY_ASSIGN(Plan plan, plan_together(cluster, shape, inputs.slots, job.placement.rules));
  if (inputs.by_program.empty()) return plan;
  plan = with_programs(std::move(plan), inputs.by_program, job.placement);
  plan.reasons = {"Programs have hosts of their own."};
  plan.alternatives.clear();
  put_costs(cluster, shape, plan);
  return plan;
}

Plan with_programs(Plan plan, const std::vector<std::vector<int>>& by_program,
                   const PlacementSpec& said) {
  if (by_program.empty()) return plan;
  std::vector<std::deque<topology::Placed>> places(by_program.size());
  for (const topology::Placed& rank : plan.ranks)
    places[static_cast<std::size_t>(rank.host)].push_back(rank);
  plan.ranks.clear();
  const bool in_turn = !topology::fills_hosts(said.rules) && said.rules.ranks_per_unit == 0;
  for (std::size_t program = 0; program < by_program.front().size(); ++program) {
    for (const std::size_t host : hosts_of_program(by_program, program, in_turn)) {
      plan.ranks.push_back(places[host].front());
      places[host].pop_front();
    }
  }
  return plan;
}

Plan unbound_plan(const std::vector<int>& ranks_by_host) {
  Plan plan;
  for (std::size_t host = 0; host < ranks_by_host.size(); ++host)
    plan.ranks.insert(plan.ranks.end(), static_cast<std::size_t>(ranks_by_host[host]),
                      {.host = static_cast<int>(host), .seat = {}});
  return plan;
}

}  // namespace paceline::launcher
