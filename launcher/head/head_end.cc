// Head, continued: who is responsible for the end of a job, and how the ranks that are left end.
#include <algorithm>
#include <utility>

#include <signal.h>

#include "comm/base/text.h"
#include "launcher/head/head.h"
#include "launcher/system/signal_source.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// How long a first failure waits for reports of earlier ones.
constexpr Duration kSettling = std::chrono::milliseconds(20);
// Before its host is ready, an agent looks for programs, and their file systems may block it.
constexpr Duration kMaxSilentStart = std::chrono::seconds(25);
// A rank that has lost another may say so before the other's end is seen, but not long before.
constexpr Duration kBlamePatience = std::chrono::milliseconds(300);

}  // namespace

// Not at once: the report of an earlier end may be on its way, and so may be that of a rank which
// this one holds responsible.
void Head::judge() {
  if (outcome_.cause || root_cause(outcome_.ends) == nullptr) return;
  if (finished_) return blame(*root_cause(outcome_.ends));
  if (std::exchange(judging_, true)) return;
  loop_.after(kSettling, [this] {
    const auto blamed = root_cause(outcome_.ends)->blamed;
    const bool is_left = blamed && *blamed >= 0 && std::cmp_less(*blamed, ranks_.size()) &&
                         !ranks_[static_cast<std::size_t>(*blamed)].ended;
    const Duration more = is_left ? kBlamePatience : Duration::zero();
    loop_.after(more, [this] {
      if (!outcome_.cause) blame(*root_cause(outcome_.ends));
    });
  });
}

void Head::blame(const RankEnd& culprit) {
  outcome_.culprit = culprit;
  const auto rank = static_cast<std::size_t>(culprit.rank);
  std::string why = describe_rank(rank) + " " + ranks_[rank].end;
  if (culprit.blamed) why += "; its error names " + name_rank(*culprit.blamed) + " as the cause";
  stop(StopCause::kRankFailed, SIGTERM, why);
}

void Head::signalled(int signal) {
  if (signal == SIGTSTP) return pause();
  if (signal == SIGCONT && input_) input_->resume();
  if (signal == SIGWINCH && !input_) return;
  if (signal == SIGWINCH) input_->tell_window_size();  // before the signal tells of it
  if (signal == SIGQUIT) {
    input_.reset();  // with the modes of the terminal
    end_by(signal);
  }
  if (signal != SIGINT && signal != SIGTERM && signal != SIGHUP) return pass_on(signal);
  const auto meaning = requests_.came(signal, loop_.clock().now(), outcome_.cause.has_value());
  stop(cause_of_signal(signal), signal, signal_name(signal) + " came");
  output_limit_.begin(job_.grace);
  if (meaning == EndRequests::Meaning::kKill) order_stop(SIGKILL);
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
  tell_all(message);
  // The last output of a failed rank waits for its reader without a limit, until a signal or
  // --timeout requests the end.
  if (outcome_.cause == StopCause::kRankFailed && signal != SIGKILL) return;
  output_limit_.begin(signal == SIGKILL ? Duration::zero() : job_.grace);
}

// While the head does not read, a host does not count as silent.
void Head::look_for_silent_hosts() {
  for (Host& host : hosts_) {
    const Duration max_silence =
        max_agent_silence(job_.max_silence, !host.start.output_directory().empty());
    const Duration patience = host.ready ? max_silence : std::max(max_silence, kMaxSilentStart);
    if (reading_ && host.started && is_needed(host) && host.silence.look(patience))
      give_up(host, patience);
  }
  if (!finished_) loop_.after(kAlivePeriod, [this] { look_for_silent_hosts(); });
}

// The state of a host that is cut off, or whose agent does not run, is unknown. The job ends
// without it.
void Head::give_up(Host& host, Duration silent) {
  lose(host,
       "the agent has not answered for " + seconds_text(silent) +
           ": it is stopped, or its host is overloaded or unreachable; the job ends without it");
}

void Head::pass_on(int signal) {
  messages::ToAgent message;
  message.mutable_signal()->set_signal(signal);
  tell_all(message);
}

// Ranks have no terminal that controls them, and SIGSTOP is obeyed by all.
void Head::pause() {
  pass_on(SIGSTOP);
  if (input_) input_->pause();
  ::raise(SIGSTOP);
}

}  // namespace paceline::launcher
