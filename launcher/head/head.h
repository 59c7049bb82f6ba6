// The head: `paceline run` itself. It decides, prints what the ranks write, and knows how the job
// ended.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/channel.h"
#include "launcher/head/console.h"
#include "launcher/head/exit_code.h"
#include "launcher/options/job_spec.h"
#include "launcher/process/event_loop.h"

namespace paceline::launcher {

/// One job with one agent. Belongs to the loop's thread; everything it is given is borrowed.
class Head {
 public:
  Head(EventLoop& loop, AgentChannel& agent, Console& console, JobSpec job);

  /// What is the agent's start message without a host to run it on: everything that the job says.
  static messages::Start make_start(const JobSpec& job);

  /// Runs the job on `start.host()` to its end and returns the exit code.
  int run(const messages::Start& start);
  /// SIGINT, SIGTERM or SIGHUP came: the ranks get the first one; a second one kills them.
  /// SIGTSTP stops the ranks and then this process. Any other is passed on.
  void signalled(int signal);

 private:
  struct Rank {
    std::int64_t pid = 0;
    std::string tag;
    bool ended = false;
    std::string end;  // in words
  };

  void receive(const messages::FromAgent& message);
  void print(const messages::RankOutput& output);
  void rank_ended(const messages::RankExited& exited);
  void judge();
  void blame(const RankEnd& culprit);
  void refused(const messages::RankRefused& refused);
  void agent_lost(const Status& why);
  Rank* find(std::uint32_t rank);
  std::string describe_rank(std::size_t rank) const;
  std::string victims() const;
  std::size_t ranks_left() const;

  void stop(StopCause cause, int signal, std::string_view why);
  void order_stop(int signal);
  void give_up_output();
  void pass_on(int signal);
  void finish();
  void end_when_printed();

  EventLoop& loop_;
  AgentChannel& agent_;
  Console& console_;
  JobSpec job_;
  std::string host_;
  std::vector<Rank> ranks_;
  JobOutcome outcome_;
  bool judging_ = false;   // a rank has failed; who is to blame is decided in a moment
  bool finished_ = false;  // the agent has nothing more to tell
};

}  // namespace paceline::launcher
