// Runs in the head.
#include "launcher/head/head.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

// Bytes that wait for the console before the agent's messages do.
constexpr std::size_t kMaxBacklogBytes = std::size_t{256} << 10;
// How long the console may take for the rest of the output once the job has been stopped.
constexpr Duration kOutputPatience = std::chrono::seconds(5);
// And then for the line that says so.
constexpr Duration kLastWord = std::chrono::milliseconds(100);
// How long a first failure waits for reports of earlier ones.
constexpr Duration kSettling = std::chrono::milliseconds(20);
// A rank that has lost another may say so before the other's end is seen, but not long before.
constexpr Duration kBlamePatience = std::chrono::milliseconds(300);

std::string in_last_operation(const std::string& operation) {
  return operation.empty() ? "" : "; its last operation: " + operation;
}

std::string memory_text(std::uint64_t kib) {
  return kib < 10 * 1024 ? std::to_string(kib) + " KiB" : std::to_string(kib / 1024) + " MiB";
}

std::string by_oom_killer(const std::string& where) {
  if (where.empty()) return "";
  return " by the kernel's OOM killer: out of memory in " +
         (where.starts_with('/') ? "cgroup " + where : where);
}

std::string in_words(const messages::RankExited& exited) {
  return describe(exited.wait_status()) + by_oom_killer(exited.oom_cgroup()) + "; peak memory " +
         memory_text(exited.peak_memory_kib()) + in_last_operation(exited.last_operation());
}

}  // namespace

Head::Head(EventLoop& loop, AgentChannel& agent, Console& console, JobSpec job)
    : loop_(loop), agent_(agent), console_(console), job_(std::move(job)) {
  outcome_.ranks = job_.ranks();
  console_.when_drained([this] {
    agent_.set_reading(true);
    end_when_printed();
  });
  console_.when_output_broken([this](int error) {
    if (error == EPIPE) return stop(StopCause::kOutputClosed, SIGTERM, "");
    stop(StopCause::kLauncher, SIGTERM,
         std::string("cannot write standard output: ") + std::strerror(error));
  });
}

messages::Start Head::make_start(const JobSpec& job) {
  messages::Start start;
  start.set_world_size(static_cast<std::uint32_t>(job.ranks()));
  start.set_local_ranks(static_cast<std::uint32_t>(job.ranks()));
  for (const ProgramSpec& program : job.programs) {
    messages::App& app = *start.add_apps();
    app.set_ranks(static_cast<std::uint32_t>(program.ranks));
    for (const std::string& word : program.command) app.add_command(word);
    for (const EnvironmentSetting& setting : program.environment) {
      messages::Variable& variable = *app.add_environment();
      variable.set_name(setting.name);
      variable.set_value(setting.value.value_or(""));
    }
    app.set_working_directory(program.working_directory);
  }
  start.set_split_lines(job.splits_lines());
  start.set_output_directory(job.output_directory);
  for (int rank = 0; rank < job.ranks(); ++rank)
    start.add_on_console(job.console_ranks.contains(rank));
  if (job.stdin_rank) start.set_stdin_rank(static_cast<std::uint32_t>(*job.stdin_rank));
  return start;
}

int Head::run(const messages::Start& start) {
  host_ = start.host();
  ranks_.resize(start.world_size());
  for (std::size_t i = 0; i < ranks_.size() && job_.tags(); ++i)
    ranks_[i].tag = output_tag(static_cast<int>(i), host_);
  agent_.open([this](const messages::FromAgent& message) { receive(message); },
              [this](const Status& why) { agent_lost(why); });
  messages::ToAgent message;
  *message.mutable_start() = start;
  if (const Status sent = agent_.send(message); !sent.ok()) {
    outcome_.cause = StopCause::kLauncher;
    console_.say("the program's arguments and variables are too long: " + sent.text());
    finish();
  }
  if (job_.timeout > Duration::zero())
    loop_.after(job_.timeout, [this] {
      stop(StopCause::kTimeout, SIGTERM,
           "the job has not ended within its --timeout of " + seconds_text(job_.timeout));
    });
  if (const Status waited = loop_.run(); !waited.ok()) {
    report("head", waited);
    return kExitLauncher;
  }
  return exit_code(outcome_);
}

// ---- What the agent tells ------------------------------------------------------------------

void Head::receive(const messages::FromAgent& message) {
  switch (message.kind_case()) {
    case messages::FromAgent::kStarted:
      if (Rank* rank = find(message.started().rank())) rank->pid = message.started().pid();
      return;
    case messages::FromAgent::kOutput:
      return print(message.output());
    case messages::FromAgent::kExited:
      return rank_ended(message.exited());
    case messages::FromAgent::kRefused:
      return refused(message.refused());
    case messages::FromAgent::kFailure:
      return stop(StopCause::kLauncher, SIGKILL, "host " + host_ + ": " + message.failure().text());
    case messages::FromAgent::kNotice:
      return console_.say("host " + host_ + ": " + message.notice().text());
    case messages::FromAgent::kFinished:
      return finish();
    case messages::FromAgent::KIND_NOT_SET:
      return;
  }
}

void Head::print(const messages::RankOutput& output) {
  const Rank* rank = find(output.rank());
  if (rank == nullptr) return;
  console_.print(output.stream(), rank->tag, output.text(), output.ending());
  if (console_.backlog_bytes() > kMaxBacklogBytes) agent_.set_reading(false);
}

void Head::rank_ended(const messages::RankExited& exited) {
  Rank* rank = find(exited.rank());
  if (rank == nullptr) return;
  rank->ended = true;
  rank->end = in_words(exited);
  RankEnd end{.rank = static_cast<int>(exited.rank()),
              .wait_status = exited.wait_status(),
              .time_ns = exited.time_ns()};
  if (exited.has_blamed()) end.blamed = static_cast<int>(exited.blamed());
  outcome_.ends.push_back(end);
  const std::string operation = in_last_operation(exited.last_operation());
  if (outcome_.cause == StopCause::kTimeout && !operation.empty())
    console_.say(describe_rank(exited.rank()) + " was stopped" + operation);
  judge();
}

// Not at once: the report of an earlier end may be on its way, and so may be that of a rank which
// this one holds responsible.
void Head::judge() {
  if (outcome_.cause || root_cause(outcome_.ends) == nullptr) return;
  if (finished_) return blame(*root_cause(outcome_.ends));
  if (std::exchange(judging_, true)) return;
  loop_.after(kSettling, [this] {
    const auto blamed = root_cause(outcome_.ends)->blamed;
    const Rank* rank = blamed ? find(static_cast<std::uint32_t>(*blamed)) : nullptr;
    const Duration more = rank != nullptr && !rank->ended ? kBlamePatience : Duration::zero();
    loop_.after(more, [this] {
      if (!outcome_.cause) blame(*root_cause(outcome_.ends));
    });
  });
}

void Head::blame(const RankEnd& culprit) {
  outcome_.culprit = culprit;
  const auto rank = static_cast<std::size_t>(culprit.rank);
  std::string why = describe_rank(rank) + " " + ranks_[rank].end;
  if (culprit.blamed) why += "; it holds rank " + std::to_string(*culprit.blamed) + " responsible";
  stop(StopCause::kRankFailed, SIGTERM, why);
}

// Every rank is refused for the same reason; the first one to say so stops the job.
void Head::refused(const messages::RankRefused& refused) {
  if (Rank* rank = find(refused.rank())) rank->ended = true;
  if (outcome_.cause) return;
  outcome_.refused_errno = refused.error();
  stop(StopCause::kRefused, SIGKILL, "host " + host_ + ": " + refused.text());
}

void Head::agent_lost(const Status& why) {
  if (finished_) return;
  stop(StopCause::kLauncher, SIGKILL,
       "host " + host_ + ": the agent is gone" + (why.ok() ? "" : ": " + why.text()) +
           "; it and all its ranks were killed");
  finish();
}

Head::Rank* Head::find(std::uint32_t rank) {
  return rank < ranks_.size() ? &ranks_[rank] : nullptr;
}

std::string Head::describe_rank(std::size_t rank) const {
  return "rank " + std::to_string(rank) + " on host " + host_ + " (pid " +
         std::to_string(ranks_[rank].pid) + ")";
}

std::size_t Head::ranks_left() const {
  return static_cast<std::size_t>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return !rank.ended; }));
}

// ---- How a job ends ------------------------------------------------------------------------

void Head::signalled(int signal) {
  if (signal == SIGTSTP) {
    pass_on(SIGSTOP);  // ranks have no terminal, and SIGSTOP is obeyed by all
    ::raise(SIGSTOP);
    return;
  }
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) return pass_on(signal);
  const bool again = outcome_.cause.has_value();
  const StopCause cause = signal == SIGINT    ? StopCause::kInterrupt
                          : signal == SIGTERM ? StopCause::kTerminate
                                              : StopCause::kHangUp;
  stop(cause, signal, std::string("SIG") + ::sigabbrev_np(signal) + " came");
  if (again) order_stop(SIGKILL);
  if (finished_) loop_.stop();
}

// The first cause counts; what follows from it is neither blamed nor told.
void Head::stop(StopCause cause, int signal, std::string_view why) {
  if (outcome_.cause) return;
  outcome_.cause = cause;
  std::string line(why);
  const std::size_t left = ranks_left();
  if (signal != SIGKILL && left > 0)
    line += "; ending " + std::to_string(left) + (left == 1 ? " rank" : " ranks");
  if (!why.empty()) console_.say(line);
  order_stop(signal);
}

void Head::order_stop(int signal) {
  messages::ToAgent message;
  message.mutable_stop()->set_signal(signal);
  message.mutable_stop()->set_grace_ns(job_.grace.count());
  // A stop is a few bytes: what could fail is the connection, and that is told by agent_lost().
  [[maybe_unused]] const Status sent = agent_.send(message);
  // A failed rank's last words wait for their reader, however slow; whoever has had enough of the
  // job itself does not.
  if (outcome_.cause == StopCause::kRankFailed && signal != SIGKILL) return;
  const Duration ranks_patience = signal == SIGKILL ? Duration::zero() : job_.grace;
  loop_.after(ranks_patience + kOutputPatience, [this] { give_up_output(); });
}

// The console, or a file of the output directory, has not taken all.
void Head::give_up_output() {
  console_.say(
      "not all output could be written in time after the job was stopped; the rest is lost");
  loop_.after(kLastWord, [this] { loop_.stop(); });
}

void Head::pass_on(int signal) {
  messages::ToAgent message;
  message.mutable_signal()->set_signal(signal);
  // As with a stop.
  [[maybe_unused]] const Status sent = agent_.send(message);
}

// How the others than the culprit ended, unless they ended well.
std::string Head::victims() const {
  if (!outcome_.culprit) return "";
  int obeyed = 0, killed = 0, others = 0;
  for (const RankEnd& end : outcome_.ends) {
    if (end.rank == outcome_.culprit->rank || succeeded(end.wait_status)) continue;
    const int code = exit_code_of(end.wait_status);
    ++(code == 128 + SIGTERM ? obeyed : code == 128 + SIGKILL ? killed : others);
  }
  std::string text;
  const auto add = [&text](int count, const std::string& how) {
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + how;
  };
  add(others, "with an error of their own");
  add(obeyed, "stopped by SIGTERM");
  add(killed, "by SIGKILL");
  return text.empty() ? "" : "other ranks ended: " + text;
}

void Head::finish() {
  finished_ = true;
  judge();
  if (const std::string others = victims(); !others.empty()) console_.say(others);
  console_.finish();
  end_when_printed();
}

void Head::end_when_printed() {
  if (finished_ && console_.backlog_bytes() == 0) loop_.stop();
}

}  // namespace paceline::launcher
