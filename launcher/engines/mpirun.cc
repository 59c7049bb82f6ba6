// mpirun: Open MPI starts one agent per host, in the order of the hosts. `--stdin all` gives each
// of them what mpirun reads.
#include <string>
#include <utility>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

class MpirunEngine final : public Engine {
 public:
  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    if (hosts.empty()) return {};
    std::string names;
    for (const AgentHost& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    Launch launch{.command = {"mpirun.openmpi", "--host", names, "--map-by", "ppr:1:node",
                              "--bind-to", "none", "--stdin", "all", "--quiet"},
                  .hosts = {hosts.begin(), hosts.end()}};
    launch.command.insert(launch.command.end(), agent.begin(), agent.end());
    launch.command.insert(launch.command.end(), {"--position-from", "OMPI_COMM_WORLD_RANK"});
    return {launch};
  }
};

}  // namespace

Result<std::unique_ptr<Engine>> make_mpirun_engine(const EngineOptions&) {
  return std::unique_ptr<Engine>(std::make_unique<MpirunEngine>());
}

}  // namespace paceline::launcher
