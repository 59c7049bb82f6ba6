#include "launcher/engines/agent_starter.h"

#include <algorithm>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/channel/host_addresses.h"
#include "launcher/channel/invitation.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/system.h"
#include "telemetry/log.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostLines = 32;
constexpr Duration kFirstPause = std::chrono::milliseconds(250);
constexpr Duration kMaxPause = std::chrono::seconds(2);
constexpr std::string_view kDropHint =
    "; sshd there, or on a jump host, closes connections before authentication: raise MaxStartups "
    "in its sshd_config, or see its log";
constexpr int kNotExecutable = 126;  // as a shell says it
constexpr int kNotFound = 127;

// The last that has anything in it, without the names that the error begins with anyway.
std::string last_line(const std::deque<std::string>& lines, const std::string& host) {
  const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                 [](const std::string& line) { return !line.empty(); });
  if (last == lines.rend()) return "";
  std::string_view text = *last;
  for (const std::string& known : {std::string("paceline: "), "host " + host + ": "})
    if (text.starts_with(known)) text.remove_prefix(known.size());
  return std::string(text);
}

}  // namespace

Result<std::unique_ptr<AgentStarter>> AgentStarter::make(EventLoop& loop, Options options) {
  const Result<std::string> own_path = path_of_this_program();
  if (options.agent_path.empty()) options.agent_path = own_path.ok() ? *own_path : "paceline";
  std::unique_ptr<AgentStarter> starter(new AgentStarter(loop, std::move(options)));
  AgentStarter* const self = starter.get();
  starter->environment_ = inherited_environment();  // the server takes variables out
  AgentServer::Handlers handlers{
      .arrived =
          [self](std::size_t index, const std::string& address,
                 std::unique_ptr<AgentChannel> agent) {
            self->arrived(index, address, std::move(agent));
          },
      .refused = [self](std::size_t index, const std::string& why) { self->refused(index, why); }};
  PACELINE_TRY_ASSIGN(starter->server_,
                      AgentServer::start(loop,
                                         {.version = starter->options_.version,
                                          .ports = starter->options_.ports,
                                          .log = make_stderr_log({.level = LogLevel::kWarning})},
                                         std::move(handlers)));
  return starter;
}

void AgentStarter::start(const Engine& engine, std::vector<AgentHost> hosts, Done done) {
  done_ = std::move(done);
  hosts_ = std::move(hosts);
  addresses_ = addresses();
  std::vector<Launch> plan = engine.plan(hosts_, {options_.agent_path, "agent"});
  std::move(plan.begin(), plan.end(), std::back_inserter(waiting_));
  at_once_ = options_.most_at_once;
  go_on_soon();
}

// ---- Programs ------------------------------------------------------------------------------

void AgentStarter::go_on_soon() {
  if (go_on_) return;
  go_on_ = loop_.after(Duration::zero(), [this] {
    go_on_.reset();
    launch_more();
    finish_if_settled();
  });
}

void AgentStarter::launch_more() {
  while ((!again_.empty() || !waiting_.empty()) && under_way_ < at_once_) {
    Started& started = next();
    ++under_way_;
    if (const Status status = launch(started); !status.ok()) fail(started, status.text());
  }
}

AgentStarter::Started& AgentStarter::next() {
  if (!again_.empty()) {
    Started& started = *again_.front();
    again_.pop_front();
    return started;
  }
  Started& started = started_.emplace_back(Started{.launch = std::move(waiting_.front())});
  waiting_.pop_front();
  started.began = loop_.clock().now();
  std::vector<std::string> names;
  for (const AgentHost& host : started.launch.hosts) {
    started.missing.insert(host.index);
    names.push_back(host.name);
  }
  started.hosts = joined(names, ", ");
  return started;
}

Status AgentStarter::launch(Started& started) {
  started.is_pausing = false;
  ++started.attempts;
  started.lines.clear();
  started.program.reset();
  PACELINE_TRY_ASSIGN(std::string input, invite(started.launch));
  started.timer = loop_.after(options_.patience, [this, &started] { overdue(started); });
  PACELINE_TRY_ASSIGN(
      started.program,
      LaunchProgram::start(
          loop_, {.command = started.launch.command,
                  .environment = environment_,
                  .input = std::move(input),
                  .input_stays_open = started.launch.input_stays_open,
                  .said = [this, &started](std::string_view line) { said(started, line); },
                  .ended = [this, &started](int status) { ended(started, status); }}));
  return Status();
}

std::vector<std::string> AgentStarter::addresses() const {
  if (options_.addresses.empty()) return addresses_of_this_host(server_->port());
  std::vector<std::string> all;
  for (const std::string& address : options_.addresses)
    all.push_back(with_port(address, server_->port()));
  return all;
}

Result<std::string> AgentStarter::invite(const Launch& launch) {
  messages::Invitation invitation;
  invitation.set_version(options_.version);
  invitation.set_job_id(options_.job_id);
  invitation.set_certificate(server_->certificate());
  invitation.set_input_stays_open(launch.input_stays_open);
  for (const std::string& address : addresses_) invitation.add_addresses(address);
  for (const AgentHost& host : launch.hosts) {
    messages::Seat& seat = *invitation.add_seats();
    seat.set_host(host.name);
    seat.set_index(static_cast<std::uint32_t>(host.index));
    PACELINE_TRY_ASSIGN(std::string token, server_->expect(host.index, host.name));
    seat.set_token(std::move(token));
  }
  return encode_invitation(invitation);
}

// Until all its agents have come, it may be the reason why they do not.
void AgentStarter::said(Started& started, std::string_view line) {
  const std::string& noise = started.launch.noise;
  if (!noise.empty() && line.find(noise) != line.npos) return;
  if (started.missing.empty()) return options_.said(started.hosts, line);
  started.lines.emplace_back(line);
  if (started.lines.size() > kMostLines) started.lines.pop_front();
}

void AgentStarter::ended(Started& started, int wait_status) {
  if (!started.missing.empty()) {
    const StartFailure failure = start_failure(started.lines);
    if (starts_again(started, failure)) return;
    const std::string hint = failure == StartFailure::kDropped ? std::string(kDropHint) : "";
    return fail(started, why_ended(started, wait_status) + hint);
  }
  // Of an agent at work its channel tells.
  if (done_) fail(started, "its agent ended before the job began");
}

// While nothing else has failed: a job that cannot start does not wait for its other hosts.
bool AgentStarter::starts_again(Started& started, StartFailure failure) {
  if (failure == StartFailure::kOther || !failures_.empty() || !done_) return false;
  // Agents that have come would come again.
  if (started.missing.size() < started.launch.hosts.size()) return false;
  const bool is_drop = failure == StartFailure::kDropped;
  const Duration pause =
      std::min(kFirstPause * (1 << std::min(started.attempts - 1, 3)), kMaxPause);
  const Duration patience = is_drop ? kDropPatience : options_.host_patience;
  if (loop_.clock().now() + pause > started.began + patience) return false;
  if (is_drop) at_once_ = std::min(at_once_, kPaced);
  if (started.attempts == (failure == StartFailure::kNotUp ? 1 : 3))
    options_.said(started.hosts, "trying again for up to " + seconds_text(patience) + ": " +
                                     last_line(started.lines, started.hosts));
  loop_.cancel(started.timer);
  --under_way_;
  started.is_pausing = true;
  started.timer = loop_.after(pause, [this, &started] {
    if (!failures_.empty()) {
      started.is_pausing = false;
      ++under_way_;
      return fail(started, last_line(started.lines, started.hosts));
    }
    again_.push_back(&started);
    launch_more();
  });
  go_on_soon();
  return true;
}

std::string AgentStarter::why_ended(const Started& started, int wait_status) const {
  std::string last = last_line(started.lines, started.hosts);
  const int code = exit_code_of(wait_status);
  const std::string quoted = last.empty() ? "" : " (" + last + ")";
  if (code == kInputReadByShell)
    return "a shell of the login there read the standard input of the agent; let .bashrc and the "
           "like start another shell only if they are interactive" +
           quoted;
  if (code == kNotFound)
    return options_.agent_path + ": command not found; install it there, or set --agent-path" +
           quoted;
  if (code == kNotExecutable)
    return options_.agent_path + " cannot be executed there; fix it, or set --agent-path" + quoted;
  if (!last.empty()) return last;
  return started.launch.command.front() + " " + describe(wait_status) +
         " without starting an agent";
}

void AgentStarter::overdue(Started& started) {
  const std::string last = last_line(started.lines, started.hosts);
  const std::string& program = started.launch.command.front();
  const bool is_ssh = program == "ssh";
  fail(started, "no agent connected within " + seconds_text(options_.patience) + ", and " +
                    program + " still runs" + (last.empty() ? "" : "; its last message: " + last) +
                    (is_ssh ? "; a login script there may read standard input: `ssh " +
                                  started.hosts + " true </dev/null` must end at once"
                            : ""));
}

// ---- Agents --------------------------------------------------------------------------------

AgentStarter::Started* AgentStarter::find(std::size_t index) {
  const auto found = std::find_if(started_.begin(), started_.end(), [index](const Started& one) {
    return !one.is_pausing && one.missing.count(index) > 0;
  });
  return found == started_.end() ? nullptr : &*found;
}

void AgentStarter::arrived(std::size_t index, const std::string& address,
                           std::unique_ptr<AgentChannel> channel) {
  Started* const started = find(index);
  if (started == nullptr) return;  // too late: it is sent away
  const auto host = std::find_if(started->launch.hosts.begin(), started->launch.hosts.end(),
                                 [index](const AgentHost& one) { return one.index == index; });
  agents_[index] = {.host = host->name,
                    .index = index,
                    .address = address,
                    .channel = std::move(channel),
                    .came = loop_.clock().now()};
  started->missing.erase(index);
  if (!started->missing.empty()) return;
  loop_.cancel(started->timer);
  for (const std::string& line : std::exchange(started->lines, {}))
    options_.said(started->hosts, line);
  --under_way_;
  launch_more();
  finish_if_settled();
}

void AgentStarter::refused(std::size_t index, const std::string& why) {
  Started* const started = find(index);
  if (started == nullptr) return;
  const std::string prefix = "host " + started->hosts + ": ";
  fail(*started, why.starts_with(prefix) ? why.substr(prefix.size()) : why);
}

void AgentStarter::fail(Started& started, const std::string& why) {
  if (std::exchange(started.failed, true)) return;
  loop_.cancel(started.timer);
  std::vector<std::string>& hosts = failures_[why];
  for (const AgentHost& host : started.launch.hosts) {
    if (!started.missing.empty() && started.missing.count(host.index) == 0) continue;
    hosts.push_back(host.name);
    if (options_.failed) options_.failed(host.name, why);
    server_->forget(host.index);
  }
  if (!started.missing.empty()) --under_way_;
  started.missing.clear();
  if (started.program) started.program->kill();
  go_on_soon();
}

// ---- The end -------------------------------------------------------------------------------

void AgentStarter::finish_if_settled() {
  const bool is_pausing = std::ranges::any_of(started_, &Started::is_pausing);
  const bool is_going_on = under_way_ > 0 || is_pausing || !waiting_.empty();
  if (!done_ || is_going_on) return;
  server_->stop_listening();
  const Done done = std::exchange(done_, nullptr);
  std::string failures;
  for (const auto& [why, hosts] : failures_)
    failures += (failures.empty() ? "host" : "\nhost") +
                std::string(hosts.size() == 1 ? " " : "s ") + joined(hosts, ", ") + ": " + why;
  std::map<std::size_t, ConnectedAgent> agents = std::exchange(agents_, {});
  if (!failures.empty()) return done(Status(Code::kUnavailable, Scope::kGroup, failures));
  std::vector<ConnectedAgent> all;
  for (const AgentHost& host : hosts_) all.push_back(std::move(agents[host.index]));
  done(std::move(all));
}

// Each agent learns from its stream, or from the end of its input, that it is not needed.
void AgentStarter::end(EventLoop& waiting, Deadline deadline) {
  agents_.clear();
  if (server_) server_->stop_listening();
  if (go_on_) loop_.cancel(*std::exchange(go_on_, std::nullopt));
  std::set<int> left;  // pidfds
  for (Started& started : started_) {
    loop_.cancel(started.timer);
    if (!started.program) continue;
    started.program->close_input();
    const int ended = started.program->pidfd();
    left.insert(ended);
    waiting.when_readable(ended, [&, ended] {
      waiting.forget_readable(ended);
      left.erase(ended);
      if (left.empty()) waiting.stop();
    });
  }
  const EventLoop::TimerId timer = waiting.at(deadline.moment(), [&] { waiting.stop(); });
  // An error says that the kernel refuses to wait.
  if (!left.empty()) {
    [[maybe_unused]] const Status waited = waiting.run();
  }
  waiting.cancel(timer);
  for (const int ended : left) waiting.forget_readable(ended);
  started_.clear();
}

AgentStarter::~AgentStarter() {
  EventLoop waiting(loop_.clock());
  end(waiting, Deadline::after(loop_.clock(), kLeave));
}

}  // namespace paceline::launcher
