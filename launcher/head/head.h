// The head: `paceline run` itself. It carries out what JobMachine decides, and prints what the
// ranks write.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/channel/channel.h"
#include "launcher/head/console.h"
#include "launcher/head/input_source.h"
#include "launcher/head/membership_file.h"
#include "launcher/head/output_limit.h"
#include "launcher/job/job_machine.h"
#include "launcher/job/job_observer.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// The agent of a host, and what it is to start there (job_start.h).
struct HostAgent {
  AgentChannel& channel;  ///< borrowed
  messages::Start start;
};

/// One job. Belongs to the loop's thread; everything it is given is borrowed.
class Head {
 public:
  /// The hosts in the order of their ranks. The first one's agent opens the job's meeting, and the
  /// others start once it is open.
  /// `membership`: null if nobody wants the log.
  Head(EventLoop& loop, Console& console, const JobSpec& job, std::vector<HostAgent> agents,
       std::vector<JobObserver*> observers, MembershipFile* membership = nullptr);

  const JobState& state() const { return machine_.state(); }

  /// Runs the job to its end and returns the exit code. None: state().seeks_hosts. The job can go
  /// on if there are other hosts for those that are lost, which state() names. The channels are not
  /// used any more. Until somebody else opens them, state() notes which of them end.
  std::optional<int> run();
  /// Goes on after such an end, with agents for a new start or with the reason why there are none.
  std::optional<int> go_on(Result<std::vector<HostAgent>> agents);
  /// Handles a signal to the head. The ranks get the first SIGINT, SIGTERM or SIGHUP; a second one
  /// kills them (see EndRequests). SIGTSTP stops the ranks and then this process. SIGQUIT ends it.
  /// Any other signal is passed on.
  void signalled(int signal);
  /// A client of the control service asks for a signal that the ranks may get, or that ends them.
  void asked(const SignalCame& came) { handle(came); }
  /// Sends a question to the agent of a host, whose answer observers see. False: the host has no
  /// agent now.
  bool ask(std::size_t host, const messages::ToAgent& message);

 private:
  struct Host {
    AgentChannel& agent;
    messages::Start start;
  };

  void take(std::vector<HostAgent> agents);
  void set_tags();
  void open_channels();
  std::optional<int> follow_agents();
  void receive(std::size_t host, const messages::FromAgent& message);
  void tell_time(std::size_t host, const messages::ClockAsked& asked);
  void print(std::size_t host, const messages::RankOutput& output);
  void pause_if_behind();
  void set_reading(bool on);
  void pause();

  void handle(JobEvent event);
  void carry_out(const StartHost& command);
  void carry_out(const Record& command);
  void carry_out(const FindHosts& command);
  void carry_out(const TellHost& command);
  void carry_out(const TellAllHosts& command);
  void carry_out(const Say& command) { console_.say(command.text); }
  void carry_out(const LimitOutput& command) { output_limit_.begin(command.grace); }
  void carry_out(const EndGrace&) { output_limit_.ranks_have_ended(); }
  void carry_out(const DropOutput& command);
  void carry_out(const EndJob&) { console_.finish(); }
  void set_timer();
  void end_when_printed();
  bool is_over() const;

  EventLoop& loop_;
  Console& console_;
  const SystemWallClock wall_clock_;
  const bool has_tags_;
  const bool has_timestamps_;
  OutputLimit output_limit_;
  std::vector<Host> hosts_;        // none while others are sought
  std::vector<std::string> tags_;  // by rank
  JobMachine machine_;
  const std::vector<JobObserver*> observers_;
  MembershipFile* const membership_;
  std::deque<JobEvent> events_;  // that came while one is handled
  bool handling_ = false;
  std::optional<EventLoop::TimerId> timer_;
  TimePoint timer_at_ = TimePoint::max();
  std::optional<InputSource> input_;  // while a rank reads a terminal, or is on another host
  std::size_t input_host_ = 0;
  bool reading_ = true;        // messages of the agents are read
  bool drops_output_ = false;  // the rest of the output is not waited for
};

}  // namespace paceline::launcher
