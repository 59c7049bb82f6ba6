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
constexpr Duration kLongestRank = seconds(8);
// Everything has a deadline: the longest run is a timeout, the grace, and a silent host.
constexpr Duration kMaxRun = seconds(90);
constexpr int kMishaps = 13;

JobMachine::Rules rules_of(const Plan& plan) {
  const bool has_timeout = std::ranges::count(plan.mishaps, Mishap::kTimeout) > 0;
  return {.timeout = has_timeout ? kTimeout : Duration::zero(),
          .grace = kGrace,
          .max_silence = kMaxSilence,
          .restarts = {.max_restarts = plan.max_restarts}};
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

// Each start has a store of its own.
std::string meeting_of(std::uint32_t epoch) { return "tcp:h0:" + std::to_string(4000 + epoch); }

}  // namespace

Plan drawn_plan(Random& random) {
  Plan plan{.hosts = 1 + random.below(5), .ranks_per_host = 1 + random.below(4)};
  constexpr Duration kDelays[] = {milliseconds(1), milliseconds(8), milliseconds(200), seconds(1)};
  plan.max_delay = kDelays[random.below(std::size(kDelays))];
  if (random.chance(0.5)) plan.max_restarts = static_cast<int>(random.below(4));
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
      agents_(plan.hosts),
      machine_(rules_of(plan), hosts_of(plan)) {
  for (std::size_t host = 0; host < agents_.size(); ++host) {
    agents_[host].clock_ahead = up_to(seconds(1000)) - seconds(500);
    for (const std::uint32_t rank : machine_.state().hosts[host].ranks)
      agents_[host].ranks.push_back({.number = rank, .stubborn = random_.chance(0.1)});
  }
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
  const std::size_t host = some_host();
  Agent& agent = agents_[host];
  switch (mishap) {
    case Mishap::kRankFails:
      return fail_rank(host, 3 << 8);
    case Mishap::kRankKilled:
      return fail_rank(host, SIGSEGV);
    case Mishap::kAgentLost:
      return lose(host);
    case Mishap::kAgentSilent:
      agent.gone = agent.lost = true;
      return;
    case Mishap::kAgentFails: {
      if (!agent.started || agent.finished) return;
      messages::FromAgent message;
      message.mutable_failure()->set_text("no more memory");
      say(host, message);
      return stop(host, SIGKILL, Duration::zero());
    }
    case Mishap::kAskedToEnd: {
      if (!agent.started || agent.finished) return;
      messages::FromAgent message;
      message.mutable_asked_to_end()->set_signal(SIGTERM);
      say(host, message);
      return stop(host, SIGTERM, kGrace);
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
      for (Agent& one : agents_)
        for (Rank& rank : one.ranks) rank.stubborn = rank.stubborn || random_.chance(0.1);
      return;
    case Mishap::kReadingPaused:
      paused_ = true;
      handle(ReadingPaused{});
      return after(up_to(seconds(10)), [this] {
        paused_ = false;
        handle(ReadingResumed{});
        for (const JobEvent& event : std::exchange(held_, {})) handle(event);
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
void SimulatedJob::fail_rank(std::size_t host, int wait_status) {
  Agent& agent = agents_[host];
  const std::size_t local = random_.below(agent.ranks.size());
  if (!agent.ranks[local].running) return;
  const auto culprit = static_cast<int>(agent.ranks[local].number);
  end_rank(host, local, wait_status);
  for (std::size_t other = 0; other < agents_.size(); ++other)
    for (std::size_t at = 0; at < agents_[other].ranks.size(); ++at)
      if (random_.chance(0.3)) end_rank_later(other, at, 1 << 8, up_to(milliseconds(15)), culprit);
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
  Agent& agent = agents_[host];
  if (tell_)
    tell_("            > start h" + std::to_string(host) + ", restart " +
          std::to_string(command.epoch));
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
  send(host, [this, host, epoch = command.epoch] { start(host, epoch); });
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

void SimulatedJob::carry_out(const TellHost& command) {
  if (command.host != 0) break_rule("a host that serves no store hears of ended ranks");
}

void SimulatedJob::carry_out(const TellAllHosts& command) {
  if (!command.message.has_stop()) return;
  const int signal = command.message.stop().signal();
  const Duration grace(command.message.stop().grace_ns());
  if (tell_) tell_("            > stop by signal " + std::to_string(signal));
  for (std::size_t host = 0; host < agents_.size(); ++host)
    send(host, [=, this] { stop(host, signal, grace); });
}

void SimulatedJob::carry_out(const Say& command) {
  if (tell_) tell_("            > say: " + command.text);
  said_.push_back(command.text);
}

void SimulatedJob::carry_out(const EndJob&) {
  if (tell_) tell_("            > end, exit code " + std::to_string(exit_code()));
  ++ended_;
}

// ---- The agents ----------------------------------------------------------------------------

// In order: a message does not arrive before the one ahead of it.
void SimulatedJob::send(std::size_t host, std::function<void()> order) {
  Agent& agent = agents_[host];
  agent.last_in = std::max(agent.last_in, now_ + up_to(plan_.max_delay));
  actions_.emplace(agent.last_in, [this, host, order = std::move(order)] {
    if (!agents_[host].gone) order();
  });
}

void SimulatedJob::say(std::size_t host, const messages::FromAgent& message) {
  Agent& agent = agents_[host];
  if (agent.gone) return;
  const int times = doubles_ && random_.chance(0.2) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    agent.last_out = std::max(agent.last_out, now_ + up_to(plan_.max_delay));
    AgentSaid said{.host = host, .message = message};
    said.message.set_epoch(agent.epoch);
    actions_.emplace(agent.last_out, [this, said = std::move(said)] {
      paused_ ? held_.push_back(said) : handle(said);
    });
  }
}

void SimulatedJob::start(std::size_t host, std::uint32_t epoch) {
  Agent& agent = agents_[host];
  if (epoch == 0) say_alive(host);
  for (Rank& rank : agent.ranks) rank.ordered = false;
  if (agent.refuses) {
    messages::FromAgent message;
    message.mutable_refused()->set_rank(agent.ranks.front().number);
    message.mutable_refused()->set_error(ENOENT);
    message.mutable_refused()->set_text("there is no program");
    say(host, message);
    return finish(host);
  }
  after(up_to(milliseconds(50)), [this, host, epoch] {
    if (agents_[host].epoch == epoch) start_ranks(host);
  });
}

void SimulatedJob::start_ranks(std::size_t host) {
  Agent& agent = agents_[host];
  if (agent.finished || agent.gone) return;
  messages::FromAgent message;
  message.mutable_ready()->set_time_ns((now_ + agent.clock_ahead).time_since_epoch().count());
  message.mutable_ready()->mutable_meeting()->set_store(meeting_of(agent.epoch));
  say(host, message);
  const bool run_on = std::ranges::count(plan_.mishaps, Mishap::kTimeout) > 0;
  for (std::size_t local = 0; local < agent.ranks.size(); ++local) {
    agent.ranks[local].running = true;
    messages::FromAgent started;
    started.mutable_started()->set_rank(agent.ranks[local].number);
    started.mutable_started()->set_pid(1000 + static_cast<int>(local));
    say(host, started);
    if (!run_on) end_rank_later(host, local, 0, up_to(kLongestRank));
  }
}

void SimulatedJob::say_alive(std::size_t host) {
  if (agents_[host].gone) return;
  messages::FromAgent message;
  message.mutable_alive();
  say(host, message);
  after(seconds(1), [this, host] { say_alive(host); });
}

void SimulatedJob::stop(std::size_t host, int signal, Duration grace) {
  Agent& agent = agents_[host];
  if (agent.gone || agent.finished || !agent.started) return;
  const bool none_runs =
      std::ranges::none_of(agent.ranks, [](const Rank& rank) { return rank.running; });
  if (none_runs) return finish(host);
  for (std::size_t local = 0; local < agent.ranks.size(); ++local) {
    Rank& rank = agent.ranks[local];
    rank.ordered = true;
    if (signal == SIGKILL) {
      end_rank(host, local, SIGKILL);
    } else if (!rank.stubborn) {
      const int status = random_.chance(0.8) ? signal : random_.chance(0.5) ? 0 : 5 << 8;
      end_rank_later(host, local, status, up_to(milliseconds(300)));
    } else {
      end_rank_later(host, local, SIGKILL, grace);
    }
  }
}

// Not if the ranks were started again meanwhile.
void SimulatedJob::end_rank_later(std::size_t host, std::size_t local, int wait_status,
                                  Duration delay, std::optional<int> blamed) {
  after(delay, [=, this, epoch = agents_[host].epoch] {
    if (agents_[host].epoch == epoch) end_rank(host, local, wait_status, blamed);
  });
}

void SimulatedJob::end_rank(std::size_t host, std::size_t local, int wait_status,
                            std::optional<int> blamed) {
  Agent& agent = agents_[host];
  Rank& rank = agent.ranks[local];
  if (agent.gone || !rank.running) return;
  rank.running = false;
  ends_.push_back(
      {.rank = rank.number, .wait_status = wait_status, .when = now_, .by_order = rank.ordered});
  messages::FromAgent message;
  messages::RankExited& exited = *message.mutable_exited();
  exited.set_rank(rank.number);
  exited.set_wait_status(wait_status);
  exited.set_time_ns((now_ + agent.clock_ahead).time_since_epoch().count());
  if (blamed && *blamed != static_cast<int>(rank.number))
    exited.set_blamed(static_cast<std::uint32_t>(*blamed));
  say(host, message);
  const bool none_runs =
      std::ranges::none_of(agent.ranks, [](const Rank& one) { return one.running; });
  if (none_runs) finish(host);
}

// The channel of the first host's agent stays, for its store. Those of all stay for restarts.
void SimulatedJob::finish(std::size_t host) {
  Agent& agent = agents_[host];
  if (std::exchange(agent.finished, true)) return;
  messages::FromAgent message;
  message.mutable_finished();
  say(host, message);
  if (host == 0 || stays()) return;
  lose(host);
  agent.lost = false;
}

// The end of a channel comes after all messages.
void SimulatedJob::lose(std::size_t host) {
  Agent& agent = agents_[host];
  if (agent.gone) return;
  agent.gone = agent.lost = true;
  agent.last_out = std::max(agent.last_out, now_ + up_to(plan_.max_delay));
  actions_.emplace(agent.last_out, [this, host] {
    const AgentLost lost{.host = host, .why = Status()};
    agents_[host].lost_told = !paused_;
    paused_ ? held_.push_back(lost) : handle(lost);
  });
}

}  // namespace paceline::launcher::testing
