#include "tests/acceptance/job/simulation/simulated_job.h"

#include <algorithm>
#include <cerrno>
#include <utility>
#include <variant>

#include <signal.h>

#include "tests/acceptance/job/simulation/event_text.h"

namespace paceline::launcher::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kGrace = seconds(3);
constexpr Duration kMaxSilence = seconds(4);
constexpr Duration kTimeout = seconds(20);
// Everything has a deadline: the longest run has a timeout, the grace, silent hosts, and the waits
// until their ranks have ended.
constexpr Duration kMaxRun = seconds(400);
constexpr int kMishaps = 13;

JobMachine::Rules rules_of(const Plan& plan) {
  const bool has_timeout = std::ranges::count(plan.mishaps, Mishap::kTimeout) > 0;
  return {.timeout = has_timeout ? kTimeout : Duration::zero(),
          .grace = kGrace,
          .max_silence = kMaxSilence,
          .restarts = {.max_restarts = plan.max_restarts, .delay = plan.restart_delay}};
}

std::vector<JobHost> hosts_of(const Plan& plan) {
  std::vector<JobHost> hosts;
  std::uint32_t rank = 0;
  for (std::size_t host = 0; host < plan.hosts; ++host) {
    JobHost one{.name = "h" + std::to_string(host), .ranks = {}};
    for (std::size_t local = 0; local < plan.ranks_per_host; ++local) one.ranks.push_back(rank++);
    hosts.push_back(std::move(one));
  }
  return hosts;
}

}  // namespace

Plan drawn_plan(Random& random) {
  Plan plan{.hosts = 1 + random.below(5), .ranks_per_host = 1 + random.below(4)};
  constexpr Duration kDelays[] = {milliseconds(1), milliseconds(8), milliseconds(200), seconds(1)};
  plan.max_delay = kDelays[random.below(std::size(kDelays))];
  if (random.chance(0.5)) plan.max_restarts = static_cast<int>(random.below(4));
  if (random.chance(0.7)) plan.spares = random.below(4);
  if (random.chance(0.3)) plan.restart_delay = seconds(30);
  const std::uint64_t count = random.below(plan.max_restarts > 0 ? 7 : 4);
  for (std::uint64_t i = 0; i < count; ++i)
    plan.mishaps.push_back(static_cast<Mishap>(random.below(kMishaps)));
  return plan;
}

SimulatedJob::SimulatedJob(const Plan& plan, std::uint64_t seed,
                           std::function<void(const std::string&)> tell)
    : plan_(plan),
      random_(seed),
      tell_(std::move(tell)),
      spares_left_(plan.spares),
      machine_(rules_of(plan), hosts_of(plan)) {
  for (const HostState& host : machine_.state().hosts)
    hosts_.push_back(new_agent(host.name, host.ranks));
}

// ---- The hosts -----------------------------------------------------------------------------

std::size_t SimulatedJob::new_agent(const std::string& name,
                                    const std::vector<std::uint32_t>& ranks) {
  Agent agent{.name = name, .ranks = {}, .clock_ahead = up_to(seconds(1000)) - seconds(500)};
  for (const std::uint32_t rank : ranks)
    agent.ranks.push_back({.number = rank, .stubborn = random_.chance(0.1)});
  agents_.push_back(std::move(agent));
  return agents_.size() - 1;
}

std::optional<std::size_t> SimulatedJob::host_of(std::size_t agent) const {
  const auto host = std::ranges::find(hosts_, agent);
  if (host == hosts_.end()) return std::nullopt;
  return static_cast<std::size_t>(host - hosts_.begin());
}

std::vector<JobHost> SimulatedJob::job_hosts() const {
  std::vector<JobHost> hosts;
  for (const std::size_t agent : hosts_) {
    JobHost host{.name = agents_[agent].name, .ranks = {}};
    for (const Rank& rank : agents_[agent].ranks) host.ranks.push_back(rank.number);
    std::ranges::sort(host.ranks);
    hosts.push_back(std::move(host));
  }
  return hosts;
}

// A spare host takes the place of one that is lost. Without one its ranks go to a host that is
// left, or to none.
void SimulatedJob::find_hosts() {
  const std::vector<HostState> hosts = machine_.state().hosts;
  std::vector<std::size_t> found;
  std::vector<std::uint32_t> homeless;
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (!hosts[host].is_lost) {
      found.push_back(hosts_[host]);
    } else if (spares_left_ > 0) {
      found.push_back(new_agent("spare" + std::to_string(spares_left_--), hosts[host].ranks));
    } else {
      homeless.insert(homeless.end(), hosts[host].ranks.begin(), hosts[host].ranks.end());
    }
  }
  if (found.empty() || (!homeless.empty() && random_.chance(0.3)))
    return handle(HostsFound{.why = Status(Code::kUnavailable, Scope::kGroup, "no host is left"),
                             .hosts = {}});
  for (const std::uint32_t rank : homeless)
    agents_[found.front()].ranks.push_back({.number = rank});
  hosts_ = std::move(found);
  handle(HostsFound{.why = Status(), .hosts = job_hosts()});
}

std::string SimulatedJob::run() {
  const TimePoint limit = now_ + kMaxRun;
  const Duration longest = seconds(6) * (1 + plan_.max_restarts);
  for (const Mishap mishap : plan_.mishaps)
    after(up_to(longest), [this, mishap] { befall(mishap); });
  handle(JobBegins{});
  while (ended_ == 0 && broken_.empty()) {
    const TimePoint next_action = actions_.empty() ? TimePoint::max() : actions_.begin()->first;
    const TimePoint next = std::min(next_action, machine_.next_timer());
    if (next > limit) {
      break_rule("the job does not end");
      break;
    }
    now_ = std::max(now_, next);
    if (machine_.next_timer() <= next_action) {
      handle(TimePassed{});
    } else {
      const auto action = actions_.extract(actions_.begin());
      action.mapped()();
    }
  }
  if (broken_.empty()) judge();
  return broken_;
}

void SimulatedJob::break_rule(const std::string& text) {
  if (broken_.empty()) broken_ = text;
}

void SimulatedJob::befall(Mishap mishap) {
  const std::size_t at = some_agent();
  Agent& agent = agents_[at];
  switch (mishap) {
    case Mishap::kRankFails:
      return fail_rank(at, 3 << 8);
    case Mishap::kRankKilled:
      return fail_rank(at, SIGSEGV);
    case Mishap::kAgentLost:
      return lose(at);
    case Mishap::kAgentSilent:
      if (!agent.gone) agent.ranks_end = now_ + kMaxSilence + kAfterTheHead;
      agent.gone = agent.lost = true;
      return;
    case Mishap::kAgentFails: {
      if (!agent.started || agent.finished) return;
      messages::FromAgent message;
      message.mutable_failure()->set_text("no more memory");
      agent.failed = true;
      say(at, message);
      return stop(at, SIGKILL, Duration::zero());
    }
    case Mishap::kAskedToEnd: {
      if (!agent.started || agent.finished) return;
      messages::FromAgent message;
      message.mutable_asked_to_end()->set_signal(SIGTERM);
      say(at, message);
      return stop(at, SIGTERM, kGrace);
    }
    case Mishap::kRefused:
      agent.refuses = true;
      return;
    case Mishap::kSignal: {
      const int signal = random_.chance(0.5) ? SIGINT : SIGTERM;
      handle(SignalCame{signal});
      if (random_.chance(0.5)) after(seconds(2), [this, signal] { handle(SignalCame{signal}); });
      return;
    }
    case Mishap::kOutputBroke:
      return handle(OutputBroke{random_.chance(0.5) ? EPIPE : ENOSPC});
    case Mishap::kTimeout:  // the ranks go on
      for (const std::size_t one : hosts_)
        for (Rank& rank : agents_[one].ranks) rank.stubborn = rank.stubborn || random_.chance(0.1);
      return;
    case Mishap::kReadingPaused:
      paused_ = true;
      handle(ReadingPaused{});
      return after(up_to(seconds(10)), [this] {
        paused_ = false;
        handle(ReadingResumed{});
        for (const auto& arrival : std::exchange(held_, {})) arrival();
      });
    case Mishap::kLogFails:
      log_fails_ = true;
      return;
    case Mishap::kDoubled:
      doubles_ = true;
      return;
  }
}

// Others may fail by it, and blame it.
void SimulatedJob::fail_rank(std::size_t at, int wait_status) {
  Agent& agent = agents_[at];
  const std::size_t local = random_.below(agent.ranks.size());
  if (!agent.ranks[local].running) return;
  const auto culprit = static_cast<int>(agent.ranks[local].number);
  end_rank(at, local, wait_status);
  for (const std::size_t other : hosts_)
    for (std::size_t one = 0; one < agents_[other].ranks.size(); ++one)
      if (random_.chance(0.3)) end_rank_later(other, one, 1 << 8, up_to(milliseconds(15)), culprit);
}

// ---- The head ------------------------------------------------------------------------------

void SimulatedJob::handle(const JobEvent& event) {
  if (ended_ > 0) return;
  ++events_;
  const auto time_text = [this] {
    return std::to_string(std::chrono::duration<double>(now_.time_since_epoch()).count() - 3600);
  };
  if (tell_ && !std::holds_alternative<TimePassed>(event))
    tell_(time_text() + "  " + text_of(event));
  const std::optional<StopCause> before = cause();
  for (const JobCommand& command : machine_.handle(now_, event)) {
    if (std::holds_alternative<StartHost>(command) && before)
      break_rule("a host is started after the end of the job has begun");
    std::visit([this](const auto& one) { carry_out(one); }, command);
  }
}

void SimulatedJob::carry_out(const StartHost& command) {
  const std::size_t host = command.host;
  const std::size_t at = hosts_[host];
  Agent& agent = agents_[at];
  if (tell_)
    tell_("            > start " + agent.name + ", restart " + std::to_string(command.epoch));
  if (agent.started && command.epoch <= agent.epoch) break_rule("a host is started twice");
  if (agent.started && !agent.finished && !agent.lost)
    break_rule("a host is started again before it has finished");
  if (agent.lost_told) break_rule("a host is started whose agent is known to be lost");
  if (host != 0 && command.meeting.store() != meeting_of(command.epoch))
    break_rule("a host is started without the meeting of the first one");
  if (!log_.is_running() || log_.last()->epoch != command.epoch)
    break_rule("a host is started for an epoch that the log does not have");
  if (host == 0) ends_.clear();
  agent.started = true;
  agent.epoch = command.epoch;
  agent.finished = false;
  send(at, [this, at, epoch = command.epoch] { start(at, epoch); });
}

void SimulatedJob::carry_out(const Record& command) {
  if (tell_) tell_("            > record " + membership_line(command.entry));
  const bool begins = std::holds_alternative<EpochBegins>(command.entry);
  Status written;
  if (log_fails_)
    written = Status(Code::kUnavailable, Scope::kProcess, "no space is left");
  else if (!log_.apply(command.entry).ok())
    break_rule("an entry cannot follow the log");
  if (begins) after(Duration::zero(), [this, written] { handle(EpochRecorded{written}); });
}

void SimulatedJob::carry_out(const FindHosts&) {
  if (tell_) tell_("            > find hosts");
  for (const std::size_t at : hosts_)
    if (agents_[at].started && !agents_[at].finished && !agents_[at].lost)
      break_rule("hosts are sought before all ranks have ended");
  for (const Agent& agent : agents_)
    if (agent.lost && agent.started && !agent.finished && now_ < agent.ranks_end)
      break_rule("hosts are sought while ranks of a lost host may run");
  const auto lost =
      static_cast<std::size_t>(std::ranges::count_if(machine_.state().hosts, &HostState::is_lost));
  if (lost == 0 || 2 * lost > hosts_.size() + 1)
    break_rule("hosts are sought without a loss, or by a head that may be cut off itself");
  after(up_to(seconds(3)), [this] { find_hosts(); });
}

void SimulatedJob::carry_out(const TellHost& command) {
  if (command.host != 0) break_rule("a host that serves no store hears of ended ranks");
}

void SimulatedJob::carry_out(const TellAllHosts& command) {
  if (!command.message.has_stop()) return;
  const int signal = command.message.stop().signal();
  const Duration grace(command.message.stop().grace_ns());
  if (tell_) tell_("            > stop by signal " + std::to_string(signal));
  if (machine_.state().seeks_hosts) return;  // the head has no channels then
  for (const std::size_t at : hosts_) send(at, [=, this] { stop(at, signal, grace); });
}

void SimulatedJob::carry_out(const Say& command) {
  if (tell_) tell_("            > say: " + command.text);
  said_.push_back(command.text);
}

void SimulatedJob::carry_out(const EndJob&) {
  if (tell_) tell_("            > end, exit code " + std::to_string(exit_code()));
  ++ended_;
}

}  // namespace paceline::launcher::testing
