// Engines: how agents come to other hosts. An engine is pure: it says which programs start agents
// where; agent_starter.h runs them. A new engine is one file and one row of the table in engine.cc.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

/// A host that is to have an agent; `index` is its place in the job.
struct AgentHost {
  std::string name;
  std::size_t index = 0;

  bool operator==(const AgentHost&) const = default;
};

/// A program that starts agents. Its standard input gets their seats (channel/invitation.h).
struct Launch {
  std::vector<std::string> command;
  std::vector<AgentHost> hosts;  ///< in the order of the seats; never empty
  bool input_stays_open = true;  ///< its input reaches each agent, and so does the input's end
  std::string noise{};           ///< a line of its standard error that has it means nothing

  bool operator==(const Launch&) const = default;
};

class Engine {
 public:
  virtual ~Engine() = default;
  /// `agent` is the command of an agent as its host has it: "/usr/bin/paceline agent".
  virtual std::vector<Launch> plan(std::span<const AgentHost> hosts,
                                   const std::vector<std::string>& agent) const = 0;
};

/// The word for no engine at all: all ranks are on this host.
inline constexpr std::string_view kLocalEngine = "local";

struct EngineOptions {
  /// ssh, slurm, mpirun, lab or lab:NAME; with launch_command it may be empty
  std::string name;
  std::string launch_command;  ///< --launch-agent: any program, {host} in it is the host's name
  std::string ssh_arguments;   ///< --ssh-args, or PACELINE_SSH_ARGS: words as a shell has them
  std::string paceline;        ///< the path of this program, for the engines that need one here
};

/// An error names what is wrong with an option, or the engines that there are.
Result<std::unique_ptr<Engine>> make_engine(const EngineOptions& options);

}  // namespace paceline::launcher
