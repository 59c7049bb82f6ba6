#include "launcher/head/job_agents.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "comm/base/try.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/engines/engine.h"
#include "launcher/engines/slurm_nodes.h"
#include "launcher/head/agent_link.h"
#include "launcher/head/job_hosts.h"
#include "launcher/head/sent_variables.h"
#include "launcher/system/host.h"

namespace paceline::launcher {
namespace {

EngineOptions engine_options(const JobSpec& job) {
  const char* const arguments = ::getenv("PACELINE_SSH_ARGS");
  const bool is_stated = !job.ssh_arguments.empty() || arguments == nullptr;
  return {.name = engine_of(job),
          .launch_command = job.launch_agent,
          .ssh_arguments = is_stated ? job.ssh_arguments : arguments,
          .paceline = "/proc/self/exe"};
}

// A starter goes on if the loop is stopped before its agents have come, and the loop runs again.
struct Attempt {
  bool is_over = false;
  Status status{Code::kCancelled, Scope::kOperation, "the start of the agents was cancelled"};
  HostFaults faults;
};

// Of hosts_of() and hosts_of_plan(), which call this host by its own name.
bool is_here(const HostShare& share) { return share.host == host_name(); }

// An agent elsewhere has another environment and another standard input, begins in another folder,
// and makes a control group of its own. -x comes last, so its values hold.
void make_good_for_others(messages::Start& part, const std::string& folder,
                          const Variables& for_others) {
  part.clear_cgroup();
  part.set_input_comes(true);
  for (messages::App& app : *part.mutable_apps()) {
    Variables variables = for_others;
    variables.MergeFrom(app.environment());
    *app.mutable_environment() = std::move(variables);
    const std::string relative = app.working_directory();
    if (relative.starts_with('/')) continue;
    app.set_working_directory(relative.empty() ? folder : folder + "/" + relative);
  }
}

}  // namespace

Status check_engine(const JobSpec& job) {
  if (job.engine == kLocalEngine) return Status();
  PACELINE_TRY(check_slurm_step([](const char* name) -> const char* { return ::getenv(name); }));
  return make_engine(engine_options(job)).status();
}

Status JobAgents::start_here(const JobSpec& job, const SharedHosts& hosts,
                             FunctionRef<void(bool)> last) {
  stays_here_ = job.restarts.max_restarts > 0 && is_candidate(job, hosts, host_name());
  if (!stays_here_ && !std::ranges::any_of(hosts.shares, is_here)) return Status();
  PACELINE_TRY_ASSIGN(here_, start_local_agent(loop_, last));
  here_->channel = std::make_unique<AgentLink>(loop_, std::move(here_->channel));
  timings_.came(Stage::kAgent, loop_.clock().now(), "host " + host_name());
  return Status();
}

Status JobAgents::start_elsewhere(const Shares& shares, const JobSpec& job,
                                  const RemoteOptions& options, HostFaults& faults) {
  std::vector<AgentHost> hosts;
  for (const HostShare& share : shares) {
    if (is_here(share) || elsewhere_.contains(share.host)) continue;
    hosts.push_back({.name = share.host, .index = hosts.size()});
  }
  if (hosts.empty()) return Status();
  for_others_ = variables_for_others(sends_paths(job), ::getenv);
  PACELINE_TRY_ASSIGN(const auto engine, make_engine(engine_options(job)));
  const auto attempt = std::make_shared<Attempt>();
  const auto failed = [attempt](const std::string& host, const std::string& why) {
    attempt->faults.add({.host = host, .why = why});
  };
  PACELINE_TRY_ASSIGN(auto starter, AgentStarter::make(loop_, {.version = options.version,
                                                               .job_id = options.job_id,
                                                               .agent_path = job.agent_path,
                                                               .addresses = {},
                                                               .ports = options.ports,
                                                               .host_patience = job.start_timeout,
                                                               .said = options.said,
                                                               .failed = failed}));
  starters_.push_back(std::move(starter));
  const auto done = [this, attempt](Result<std::vector<ConnectedAgent>> agents) {
    if (attempt->is_over) return;
    attempt->status = agents.status();
    loop_.stop();
    if (!agents.ok()) return;
    for (ConnectedAgent& agent : *agents) {
      timings_.came(Stage::kAgent, agent.came, "host " + agent.host);
      agent.channel = std::make_unique<AgentLink>(loop_, std::move(agent.channel));
      elsewhere_.insert_or_assign(agent.host, std::move(agent));
    }
  };
  starters_.back()->start(*engine, std::move(hosts), done);
  const Status waited = loop_.run();
  attempt->is_over = true;
  for (const HostFault& fault : attempt->faults.all()) faults.add(fault);
  return waited.ok() ? attempt->status : waited;
}

bool JobAgents::is_possible(const std::string& host) const {
  return host != host_name() || (here_ && here_->channel);
}

// Nothing where no other host has to know it.
Result<std::string> JobAgents::own_address() const {
  if (elsewhere_.empty()) return std::string();
  return address_towards(elsewhere_.begin()->second.address);
}

Result<std::vector<HostAgent>> JobAgents::take(const Shares& shares, const messages::Start& job,
                                               const std::string& folder) {
  std::vector<HostAgent> all;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    messages::Start part = job;
    part.set_host(shares[i].host);
    part.set_host_index(static_cast<std::uint32_t>(i));
    if (is_here(shares[i])) {
      PACELINE_TRY_ASSIGN(*part.mutable_address(), own_address());
      part.set_input_comes(part.has_input_terminal());
      all.push_back({.channel = *here_->channel, .start = std::move(part)});
    } else {
      const ConnectedAgent& agent = elsewhere_.at(shares[i].host);
      if (shares.size() > 1) part.set_address(agent.address);
      make_good_for_others(part, folder, for_others_);
      all.push_back({.channel = *agent.channel, .start = std::move(part)});
    }
  }
  return all;
}

void JobAgents::release(const std::string& host) {
  elsewhere_.erase(host);
  if (here_ && host == host_name()) here_->channel.reset();
}

// An agent ends when its channel closes. The local agent's process is waited for at the end of the
// job, because then no process of the head may remain.
void JobAgents::release_others(const std::vector<HostAgent>& used) {
  const auto is_used = [&used](const std::unique_ptr<AgentChannel>& channel) {
    return std::ranges::any_of(
        used, [&channel](const HostAgent& agent) { return &agent.channel == channel.get(); });
  };
  std::erase_if(elsewhere_, [&](const auto& agent) { return !is_used(agent.second.channel); });
  if (here_ && !stays_here_ && !is_used(here_->channel)) here_->channel.reset();
}

void JobAgents::end(EventLoop& waiting) {
  elsewhere_.clear();
  if (here_) here_->channel.reset();
  const Deadline deadline = Deadline::after(waiting.clock(), AgentStarter::kLeave);
  for (const auto& starter : starters_) starter->end(waiting, deadline);
}

}  // namespace paceline::launcher
