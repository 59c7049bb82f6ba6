// slurm: one step of srun for all hosts. Its standard input goes to each of its tasks, so every
// agent reads all seats and takes that of its node. They are all the same user's.
#include <string>
#include <utility>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

class SlurmEngine final : public Engine {
 public:
  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    if (hosts.empty()) return {};
    std::string names;
    for (const AgentHost& host : hosts) names += (names.empty() ? "" : ",") + host.name;
    const std::string count = std::to_string(hosts.size());
    // --overlap: the ranks, which the agent starts, use the same resources of the node. --wait=0:
    // hosts that finish early do not end the others, for any WaitTime in slurm.conf.
    Launch launch{
        .command = {"srun", "--nodes=" + count, "--ntasks=" + count, "--ntasks-per-node=1",
                    "--nodelist=" + names, "--overlap", "--input=all", "--kill-on-bad-exit=0",
                    "--wait=0", "--mpi=none", "--cpu-bind=none", "--quiet"},
        .hosts = {hosts.begin(), hosts.end()},
        // A cluster without task/affinity says so of every --cpu-bind, also of none.
        .noise = "configuration lacks support for cpu binding"};
    launch.command.insert(launch.command.end(), agent.begin(), agent.end());
    launch.command.insert(launch.command.end(), {"--name-from", "SLURMD_NODENAME"});
    return {launch};
  }
};

}  // namespace

Result<std::unique_ptr<Engine>> make_slurm_engine(const EngineOptions&) {
  return std::unique_ptr<Engine>(std::make_unique<SlurmEngine>());
}

}  // namespace paceline::launcher
