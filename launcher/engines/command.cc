// --launch-agent: any program that executes words on a host and passes standard input on.
#include <utility>

#include "comm/base/try.h"
#include "launcher/engines/rows.h"
#include "launcher/engines/shell_words.h"

namespace paceline::launcher {
namespace {

constexpr std::string_view kHost = "{host}";

bool put_host(std::string& word, const std::string& host) {
  bool found = false;
  for (std::size_t at = 0; (at = word.find(kHost, at)) != std::string::npos; at += host.size()) {
    word.replace(at, kHost.size(), host);
    found = true;
  }
  return found;
}

class CommandEngine final : public Engine {
 public:
  explicit CommandEngine(std::vector<std::string> words) : words_(std::move(words)) {}

  std::vector<Launch> plan(std::span<const AgentHost> hosts,
                           const std::vector<std::string>& agent) const override {
    std::vector<Launch> launches;
    for (const AgentHost& host : hosts) {
      Launch launch{.command = words_, .hosts = {host}};
      bool named = false;
      for (std::string& word : launch.command) named |= put_host(word, host.name);
      if (!named) launch.command.push_back(host.name);
      launch.command.insert(launch.command.end(), agent.begin(), agent.end());
      launches.push_back(std::move(launch));
    }
    return launches;
  }

 private:
  const std::vector<std::string> words_;
};

}  // namespace

Result<std::unique_ptr<Engine>> make_command_engine(const EngineOptions& options) {
  PACELINE_TRY_ASSIGN(std::vector<std::string> words, split_words(options.launch_command));
  if (words.empty())
    return Status(Code::kInvalidArgument, Scope::kOperation, "--launch-agent names no program");
  return std::unique_ptr<Engine>(std::make_unique<CommandEngine>(std::move(words)));
}

}  // namespace paceline::launcher
