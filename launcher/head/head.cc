// Runs in the head.
#include "launcher/head/head.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "launcher/job/rank_end_text.h"
#include "launcher/system/signal_source.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// Bytes that wait for the console before the agent's messages do.
constexpr std::size_t kMaxBacklogBytes = std::size_t{256} << 10;

std::string in_host(const messages::Start& start, const std::string& text) {
  return "host " + start.host() + ": " + text;
}

}  // namespace

Head::Head(EventLoop& loop, Console& console, Timings& timings, JobSpec job,
           std::vector<HostAgent> agents, BindingReport::Options bindings)
    : loop_(loop),
      console_(console),
      timings_(timings),
      job_(std::move(job)),
      bindings_(job_.ranks(), std::move(bindings)),
      output_limit_(loop, console) {
  outcome_.ranks = job_.ranks();
  hosts_.reserve(agents.size());
  ranks_.resize(static_cast<std::size_t>(job_.ranks()));
  for (HostAgent& agent : agents)
    hosts_.push_back({.agent = agent.channel, .start = std::move(agent.start)});
  for (const Host& host : hosts_) {
    for (const std::uint32_t rank : host.start.ranks()) ranks_[rank].host = &host;
  }
  console_.when_drained([this] {
    set_reading(true);
    end_when_printed();
  });
  console_.when_output_broken([this](int error) {
    if (error == EPIPE) return stop(StopCause::kOutputClosed, SIGTERM, "");
    stop(StopCause::kLauncher, SIGTERM,
         std::string("cannot write standard output: ") + std::strerror(error));
  });
}

int Head::run() {
  for (std::size_t i = 0; i < ranks_.size() && job_.tags(); ++i)
    ranks_[i].tag = output_tag(static_cast<int>(i), ranks_[i].host->start.host());
  for (Host& host : hosts_)
    host.agent.open([this, &host](const messages::FromAgent& message) { receive(host, message); },
                    [this, &host](const Status& why) { agent_lost(host, why); });
  start(hosts_.front());
  loop_.after(kAlivePeriod, [this] { look_for_silent_hosts(); });
  if (job_.timeout > Duration::zero())
    loop_.after(job_.timeout, [this] {
      stop(StopCause::kTimeout, SIGTERM,
           "the job has not ended within its --timeout of " + seconds_text(job_.timeout));
      output_limit_.begin(job_.grace);
    });
  if (const Status waited = loop_.run(); !waited.ok()) {
    report("head", waited);
    return kExitLauncher;
  }
  return exit_code(outcome_);
}

void Head::start(Host& host) {
  messages::ToAgent message;
  *message.mutable_start() = host.start;
  const Status sent = host.agent.send(message);
  host.started = sent.ok();
  if (sent.ok() && host.start.input_comes())
    input_.emplace(loop_, STDIN_FILENO, [&host](const messages::ToAgent& input) {
      [[maybe_unused]] const Status taken = host.agent.send(input);  // as in tell_all()
    });
  if (sent.ok()) return;
  stop(StopCause::kLauncher, SIGKILL,
       "the program's arguments and environment variables are too long: " + sent.text());
  finish(host);
}

// ---- What the agents tell ------------------------------------------------------------------

void Head::receive(Host& host, const messages::FromAgent& message) {
  host.heard = loop_.clock().now();
  host.silence.broken();
  switch (message.kind_case()) {
    case messages::FromAgent::kReady:
      return ready(host, message.ready());
    case messages::FromAgent::kStarted:
      return rank_started(host, message.started());
    case messages::FromAgent::kOutput:
      return print(host, message.output());
    case messages::FromAgent::kExited:
      return rank_ended(host, message.exited());
    case messages::FromAgent::kRefused:
      return refused(host, message.refused());
    case messages::FromAgent::kFailure:
      return stop(StopCause::kLauncher, SIGKILL, in_host(host.start, message.failure().text()));
    case messages::FromAgent::kNotice:
      return console_.say(in_host(host.start, message.notice().text()));
    case messages::FromAgent::kFinished:
      return finish(host);
    case messages::FromAgent::kInputTaken:
      if (input_) input_->taken(message.input_taken().bytes(), message.input_taken().closed());
      return;
    case messages::FromAgent::kTerminalOutput:
      console_.echo(message.terminal_output());
      return pause_if_behind();
    case messages::FromAgent::kAskedToEnd:
      return agent_asked_to_end(host, message.asked_to_end().signal());
    case messages::FromAgent::kAlive:
    case messages::FromAgent::kSurveyed:  // of the time before
    case messages::FromAgent::kTried:
    case messages::FromAgent::kDescribed:
    case messages::FromAgent::KIND_NOT_SET:
      return;
  }
}

// Clocks of hosts are apart by what they are at the same moment, but for the message's way.
void Head::ready(Host& host, const messages::Ready& ready) {
  host.ready = true;
  host.clock_ahead_ns = ready.time_ns() - loop_.clock().now().time_since_epoch().count();
  if (&host != &hosts_.front()) return;
  timings_.came(Stage::kMeeting, host.heard);
  if (outcome_.cause) return;
  for (std::size_t i = 1; i < hosts_.size(); ++i) {
    *hosts_[i].start.mutable_meeting() = ready.meeting();
    start(hosts_[i]);
  }
}

// Where it came so far, and on the head's own clock.
void Head::note(Stage stage, const Host& host, std::uint32_t rank, std::int64_t time_ns) {
  if (!job_.timings || time_ns == 0) return;
  const std::string elsewhere = hosts_.size() > 1 ? " on host " + host.start.host() : "";
  // How far clocks are apart is known but for a message's way: nothing was after it was heard of.
  const TimePoint when = std::min(TimePoint(Duration(time_ns - host.clock_ahead_ns)), host.heard);
  timings_.came(stage, when, "rank " + std::to_string(rank) + elsewhere);
}

void Head::rank_started(const Host& host, const messages::RankStarted& started) {
  Rank* rank = find(host, started.rank());
  if (rank == nullptr) return;
  rank->pid = started.pid();
  bindings_.started(host.start, started);
  note(Stage::kStarted, host, started.rank(), started.time_ns());
}

void Head::print(const Host& host, const messages::RankOutput& output) {
  const Rank* rank = find(host, output.rank());
  if (rank == nullptr) return;
  const bool is_timed = job_.timestamps && !rank->tag.empty();
  console_.print(output.stream(),
                 is_timed ? timed_tag(rank->tag, wall_clock_.since_1970()) : rank->tag,
                 output.text(), output.ending());
  pause_if_behind();
}

void Head::pause_if_behind() {
  if (console_.backlog_bytes() > kMaxBacklogBytes) set_reading(false);
}

void Head::rank_ended(const Host& host, const messages::RankExited& exited) {
  Rank* rank = find(host, exited.rank());
  if (rank == nullptr) return;
  rank->ended = true;
  rank->end = in_words(exited);
  RankEnd end{.rank = static_cast<int>(exited.rank()),
              .wait_status = exited.wait_status(),
              .time_ns = exited.time_ns() - host.clock_ahead_ns};
  note(Stage::kJoining, host, exited.rank(), exited.joining_ns());
  note(Stage::kJoined, host, exited.rank(), exited.joined_ns());
  note(Stage::kFirstOperation, host, exited.rank(), exited.first_operation_ns());
  note(Stage::kEnded, host, exited.rank(), exited.time_ns());
  if (exited.has_blamed()) end.blamed = static_cast<int>(exited.blamed());
  outcome_.ends.push_back(end);
  if (outcome_.ends.size() == ranks_.size()) output_limit_.ranks_have_ended();
  tell_those_who_wait(exited);
  const std::string operation = in_last_operation(exited.last_operation());
  if (outcome_.cause == StopCause::kTimeout && !operation.empty())
    console_.say(describe_rank(exited.rank()) + " was stopped" + operation);
  judge();
}

// A rank that fails ends the job. A rank that has ended well may still be waited for by another
// rank, which does not know of its end. The agent of the first host serves the store in which they
// wait.
void Head::tell_those_who_wait(const messages::RankExited& exited) {
  if (exited.wait_status() != 0) return;
  messages::ToAgent message;
  message.mutable_rank_ended()->set_rank(exited.rank());
  message.mutable_rank_ended()->set_how("exit code 0");
  // As in tell_all().
  [[maybe_unused]] const Status sent = hosts_.front().agent.send(message);
}

// Every rank is refused for the same reason; the first one to say so stops the job.
void Head::refused(const Host& host, const messages::RankRefused& refused) {
  if (Rank* rank = find(host, refused.rank())) rank->ended = true;
  if (outcome_.cause) return;
  outcome_.refused_errno = refused.error();
  stop(StopCause::kRefused, SIGKILL, in_host(host.start, refused.text()));
}

// The agent has sent the signal to its own ranks. stop() passes it on to the ranks of all others.
void Head::agent_asked_to_end(const Host& host, int signal) {
  if (signal != SIGINT && signal != SIGHUP) signal = SIGTERM;
  requests_.came_elsewhere();
  stop(cause_of_signal(signal), signal,
       in_host(host.start, "the agent received " + signal_name(signal)));
}

void Head::agent_lost(Host& host, const Status& why) {
  if (!is_needed(host)) return;
  const std::string lost = host.finished ? "; with it the job has lost its rendezvous store"
                                         : "; it and " + ranks_text(host.start) + " were killed";
  lose(host, "the agent is gone" + (why.ok() ? "" : ": " + why.text()) + lost);
}

// The agent of the first host serves the store, even if its own ranks have ended.
bool Head::is_needed(const Host& host) const {
  return !host.finished || (&host == &hosts_.front() && !finished_ && !outcome_.cause);
}

void Head::lose(Host& host, const std::string& why) {
  faults_.add({.host = host.start.host(), .why = why});
  const std::string text = in_host(host.start, why);
  if (outcome_.cause) console_.say(text);
  stop(StopCause::kLauncher, SIGKILL, text);
  finish(host);
}

// A host's agent speaks of its own ranks only.
Head::Rank* Head::find(const Host& host, std::uint32_t rank) {
  return rank < ranks_.size() && ranks_[rank].host == &host ? &ranks_[rank] : nullptr;
}

std::string Head::describe_rank(std::size_t rank) const {
  return "rank " + std::to_string(rank) + " on host " + ranks_[rank].host->start.host() + " (pid " +
         std::to_string(ranks_[rank].pid) + ")";
}

// One that others blame, which need not be there.
std::string Head::name_rank(int rank) const {
  const bool is_elsewhere = hosts_.size() > 1 && rank >= 0 && std::cmp_less(rank, ranks_.size());
  return "rank " + std::to_string(rank) +
         (is_elsewhere ? " on host " + ranks_[static_cast<std::size_t>(rank)].host->start.host()
                       : "");
}

std::size_t Head::ranks_left() const {
  return static_cast<std::size_t>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.ended; }));
}

void Head::tell_all(const messages::ToAgent& message) {
  for (const Host& host : hosts_) {
    // It is a few bytes: what could fail is the connection, and that is told by agent_lost().
    [[maybe_unused]] const Status sent = host.agent.send(message);
  }
}

void Head::set_reading(bool on) {
  if (std::exchange(reading_, on) == on) return;
  for (const Host& host : hosts_) host.agent.set_reading(on);
}

// Agents that were told nothing have nothing to tell.
void Head::finish(Host& host) {
  host.finished = true;
  if (host.start.input_comes()) input_.reset();
  timings_.came(Stage::kCleared, loop_.clock().now(), "host " + host.start.host());
  const bool all = std::all_of(hosts_.begin(), hosts_.end(), [this](const Host& one) {
    return one.finished || (!one.started && outcome_.cause);
  });
  if (all && !finished_) finish();
}

void Head::finish() {
  finished_ = true;
  judge();
  if (const std::string others = describe_victims(outcome_); !others.empty()) console_.say(others);
  if (job_.timings) console_.say(timings_.table());
  console_.finish();
  end_when_printed();
}

void Head::end_when_printed() {
  if (finished_ && console_.backlog_bytes() == 0) loop_.stop();
}

}  // namespace paceline::launcher
