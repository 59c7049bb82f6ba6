// ssh: an agent per host, and no questions. The server gives the words to the user's shell there,
// so they are quoted.
#include <utility>

#include "comm/base/try.h"
#include "launcher/engines/rows.h"
#include "launcher/engines/shell_words.h"

namespace paceline::launcher {
namespace {

class SshEngine final : public Engine {
 public:
  explicit SshEngine(std::vector<std::string> words) : words_(std::move(words)) {}

  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    std::string remote = "exec";
    for (const std::string& word : agent) remote.append(" ").append(quote_word(word));
    std::vector<Launch> launches;
    for (const AgentHost& host : hosts) {
      Launch launch{.command = words_, .hosts = {host}};
      launch.command.insert(launch.command.end(), {"--", host.name, remote});
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  const std::vector<std::string> words_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_ssh_engine(const EngineOptions& options) {
  PACELINE_TRY_ASSIGN(const std::vector<std::string> given, split_words(options.ssh_arguments));
  std::vector<std::string> words{"ssh"};
  words.insert(words.end(), given.begin(), given.end());  // the first value of an option counts
  // A connection that the user shares (ControlMaster) is used, but none is made: it would outlive
  // the job, and be ended with the job's other orphans.
  for (const char* option : {"BatchMode=yes", "ConnectTimeout=10", "ServerAliveInterval=5",
                             "ServerAliveCountMax=3", "ControlMaster=no"})
    words.insert(words.end(), {"-o", option});
  words.insert(words.end(), {"-T", "-x"});
  return std::unique_ptr<Engine>(std::make_unique<SshEngine>(std::move(words)));
}

}  // namespace paceline::launcher
