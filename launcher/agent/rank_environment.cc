#include "launcher/agent/rank_environment.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <unordered_map>

#include <unistd.h>

namespace paceline::launcher {
namespace {

std::string_view name_of(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

}  // namespace

void add_variable(Variables& variables, std::string_view name, std::string value) {
  messages::Variable& variable = *variables.Add();
  variable.set_name(std::string(name));
  variable.set_value(std::move(value));
}

void add_variable(Variables& variables, std::string_view name, int value) {
  add_variable(variables, name, std::to_string(value));
}

CpuSet host_cpus(const messages::Start& start) {
  CpuSet all;
  for (const messages::RankSeat& seat : start.seats()) {
    const auto cpus = CpuSet::parse(seat.cpus());
    if (!cpus || cpus->is_empty()) return {};
    all.add(*cpus);
  }
  return all;
}

Variables suggested_variables(const messages::Start& start, const HostFacts& facts,
                              FunctionRef<bool(std::string_view)> is_set) {
  Variables variables;
  const int ranks = start.ranks_size();
  if (!is_set("OMP_NUM_THREADS"))
    add_variable(variables, "OMP_NUM_THREADS", std::max(1, facts.allowed_cpus / ranks));
  add_variable(variables, "MASTER_ADDR", facts.meeting.master_address());
  add_variable(variables, "MASTER_PORT", static_cast<int>(facts.meeting.master_port()));
  if (!start.address().empty()) add_variable(variables, "PACELINE_BIND_ADDRESS", start.address());
  // Left alone, Gloo goes by the address of the host's name, which may be 127.0.1.1.
  if (!start.interface().empty() && !is_set("NCCL_SOCKET_IFNAME"))
    add_variable(variables, "NCCL_SOCKET_IFNAME", std::string("=").append(start.interface()));
  if (!start.interface().empty() && !is_set("GLOO_SOCKET_IFNAME"))
    add_variable(variables, "GLOO_SOCKET_IFNAME", start.interface());
  return variables;
}

Variables unless_set(const Variables& suggested, const Variables& changes,
                     FunctionRef<const char*(const char*)> base) {
  Variables left;
  for (const messages::Variable& variable : suggested)
    if (value_of(variable.name().c_str(), changes, base) == nullptr) *left.Add() = variable;
  return left;
}

Variables identity_variables(const messages::Start& start, const HostFacts& facts, int local_rank) {
  Variables variables;
  const int rank = static_cast<int>(start.ranks(local_rank));
  const int world_size = static_cast<int>(start.world_size());
  const int local_world_size = start.ranks_size();
  const int host_index = static_cast<int>(start.host_index());
  add_variable(variables, "RANK", rank);
  add_variable(variables, "LOCAL_RANK", local_rank);
  add_variable(variables, "WORLD_SIZE", world_size);
  add_variable(variables, "LOCAL_WORLD_SIZE", local_world_size);
  add_variable(variables, "GROUP_RANK", host_index);
  add_variable(variables, "TORCHELASTIC_RESTART_COUNT", static_cast<int>(start.epoch()));
  add_variable(variables, "TORCHELASTIC_MAX_RESTARTS", static_cast<int>(start.max_epoch()));
  add_variable(variables, "TORCHELASTIC_RUN_ID", start.job_id());
  // Programs may change the numbers above. The launcher names ranks by this one.
  add_variable(variables, "PACELINE_LAUNCHED_AS",
               std::to_string(rank) + "/" + std::to_string(world_size));
  add_variable(variables, "OMPI_COMM_WORLD_RANK", rank);
  add_variable(variables, "OMPI_COMM_WORLD_SIZE", world_size);
  add_variable(variables, "OMPI_COMM_WORLD_LOCAL_RANK", local_rank);
  add_variable(variables, "OMPI_COMM_WORLD_LOCAL_SIZE", local_world_size);
  add_variable(variables, "OMPI_COMM_WORLD_NODE_RANK", local_rank);
  add_variable(variables, "PACELINE_STORE", facts.meeting.store());
  add_variable(variables, "PACELINE_JOB_ID", start.job_id());
  add_variable(variables, "PACELINE_HOST", start.host());
  // Empty as well: a job that was started by a rank of another inherits what that one was told.
  add_variable(variables, "PACELINE_HOST_CPUS", host_cpus(start).to_text());
  add_variable(variables, "PACELINE_TERMINAL", start.terminal() ? 1 : 0);
  add_variable(variables, "PACELINE_ABLATE", start.ablated());
  return variables;
}

std::vector<std::string> merge_environment(std::vector<std::string> base,
                                           const Variables& changes) {
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < base.size(); ++i) places.emplace(name_of(base[i]), i);
  for (const messages::Variable& change : changes) {
    const auto [place, is_new] = places.emplace(change.name(), base.size());
    if (is_new) base.emplace_back();
    base[place->second] = change.name() + "=" + change.value();
  }
  return base;
}

const char* value_of(const char* name, const Variables& changes,
                     FunctionRef<const char*(const char*)> base) {
  const auto change = std::find_if(changes.rbegin(), changes.rend(), [name](const auto& variable) {
    return variable.name() == name;
  });
  return change != changes.rend() ? change->value().c_str() : base(name);
}

std::string search_path(const Variables& changes) {
  const char* path = value_of("PATH", changes, ::getenv);
  return path != nullptr ? path : "/bin:/usr/bin";
}

std::vector<std::string> inherited_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable)
    variables.emplace_back(*variable);
  return variables;
}

}  // namespace paceline::launcher
