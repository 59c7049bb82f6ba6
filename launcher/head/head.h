// The head: `paceline run` itself. It decides, prints what the ranks write, and knows how the job
// ended.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/channel/channel.h"
#include "launcher/channel/silence.h"
#include "launcher/head/binding_report.h"
#include "launcher/head/console.h"
#include "launcher/job/exit_code.h"
#include "launcher/job/host_faults.h"
#include "launcher/head/input_source.h"
#include "launcher/head/output_limit.h"
#include "launcher/head/timings.h"
#include "launcher/options/job_spec.h"
#include "launcher/system/end_requests.h"
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
  Head(EventLoop& loop, Console& console, Timings& timings, JobSpec job,
       std::vector<HostAgent> agents, BindingReport::Options bindings);

  /// Hosts whose agents were lost, so far.
  const HostFaults& faults() const { return faults_; }

  /// Runs the job to its end and returns the exit code.
  int run();
  /// Handles a signal to the head. The ranks get the first SIGINT, SIGTERM or SIGHUP; a second one
  /// kills them (see EndRequests). SIGTSTP stops the ranks and then this process. SIGQUIT ends it.
  /// Any other signal is passed on.
  void signalled(int signal);

 private:
  struct Host {
    AgentChannel& agent;
    messages::Start start;
    std::int64_t clock_ahead_ns = 0;  // of this host's
    bool started = false;             // its agent has been told to
    bool finished = false;            // its agent has nothing more to tell
    bool ready = false;               // its agent has sent Ready
    TimePoint heard{};                // when it last told something
    Silence silence;
  };
  struct Rank {
    const Host* host = nullptr;
    std::int64_t pid = 0;
    std::string tag;
    bool ended = false;
    std::string end;  // in words
  };

  void start(Host& host);
  void receive(Host& host, const messages::FromAgent& message);
  void ready(Host& host, const messages::Ready& ready);
  void note(Stage stage, const Host& host, std::uint32_t rank, std::int64_t time_ns);
  void rank_started(const Host& host, const messages::RankStarted& started);
  void print(const Host& host, const messages::RankOutput& output);
  void rank_ended(const Host& host, const messages::RankExited& exited);
  void tell_those_who_wait(const messages::RankExited& exited);
  void judge();
  void blame(const RankEnd& culprit);
  void refused(const Host& host, const messages::RankRefused& refused);
  void agent_asked_to_end(const Host& host, int signal);
  void agent_lost(Host& host, const Status& why);
  bool is_needed(const Host& host) const;
  void lose(Host& host, const std::string& why);
  Rank* find(const Host& host, std::uint32_t rank);
  std::string describe_rank(std::size_t rank) const;
  std::string name_rank(int rank) const;
  std::size_t ranks_left() const;

  void stop(StopCause cause, int signal, std::string_view why);
  void order_stop(int signal);
  void look_for_silent_hosts();
  void give_up(Host& host, Duration silent);
  void pass_on(int signal);
  void pause();
  void tell_all(const messages::ToAgent& message);
  void set_reading(bool on);
  void pause_if_behind();
  void finish(Host& host);
  void finish();
  void end_when_printed();

  EventLoop& loop_;
  Console& console_;
  Timings& timings_;
  JobSpec job_;
  const SystemWallClock wall_clock_;
  BindingReport bindings_;
  OutputLimit output_limit_;
  std::vector<Host> hosts_;
  std::vector<Rank> ranks_;
  std::optional<InputSource> input_;  // while a rank reads a terminal, or is on another host
  EndRequests requests_;
  JobOutcome outcome_;
  HostFaults faults_;
  bool judging_ = false;   // a rank has failed; the culprit is decided after kSettling
  bool reading_ = true;    // messages of the agents are read
  bool finished_ = false;  // no agent will send another message
};

}  // namespace paceline::launcher
