// lab: the hosts are those of `paceline lab` on this machine.
#include <utility>

#include "launcher/engines/rows.h"

namespace paceline::launcher {
namespace {

class LabEngine final : public Engine {
 public:
  LabEngine(std::string paceline, std::string lab)
      : paceline_(std::move(paceline)), lab_(std::move(lab)) {}

  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    std::vector<Launch> launches;
    for (const AgentHost& host : hosts) {
      Launch launch{.command = {paceline_, "lab", "exec"}, .hosts = {host}};
      if (!lab_.empty()) launch.command.insert(launch.command.end(), {"--name", lab_});
      launch.command.insert(launch.command.end(), {host.name, "--"});
      launch.command.insert(launch.command.end(), agent.begin(), agent.end());
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  const std::string paceline_;
  const std::string lab_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_lab_engine(const EngineOptions& options) {
  const std::size_t colon = options.name.find(':');
  const std::string lab = colon == options.name.npos ? "" : options.name.substr(colon + 1);
  return std::unique_ptr<Engine>(std::make_unique<LabEngine>(options.paceline, lab));
}

}  // namespace paceline::launcher
