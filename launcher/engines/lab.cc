// lab: the hosts are those of `paceline lab` on this machine.
#include <utility>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

class LabEngine final : public Engine {
 public:
  explicit LabEngine(std::string paceline) : paceline_(std::move(paceline)) {}

  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    std::vector<Launch> launches;
    for (const AgentHost& host : hosts) {
      Launch launch{.command = {paceline_, "lab", "exec", host.name, "--"}, .hosts = {host}};
      launch.command.insert(launch.command.end(), agent.begin(), agent.end());
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  const std::string paceline_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_lab_engine(const EngineOptions& options) {
  return std::unique_ptr<Engine>(std::make_unique<LabEngine>(options.paceline));
}

}  // namespace paceline::launcher
