// mpirun: Open MPI starts the agent of each host, by whatever the cluster has (PBS, LSF and
// others). One mpirun per host, as it passes its standard input on to one process only (4.1.4
// closes that of all of them under `--stdin all`).
#include <utility>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

class MpirunEngine final : public Engine {
 public:
  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    std::vector<Launch> launches;
    for (const AgentHost& host : hosts) {
      Launch launch{.command = {"mpirun.openmpi", "--host", host.name, "-n", "1", "--bind-to",
                                "none", "--quiet"},
                    .hosts = {host}};
      launch.command.insert(launch.command.end(), agent.begin(), agent.end());
      launches.push_back(std::move(launch));
    }
    return launches;
  }
};

}  // namespace

Result<std::unique_ptr<Engine>> make_mpirun_engine(const EngineOptions&) {
  return std::unique_ptr<Engine>(std::make_unique<MpirunEngine>());
}

}  // namespace paceline::launcher
