// All decisions about a job: when hosts start, what ends the job, which rank is responsible. Pure:
// no processes, no descriptors, no clock.
//
//   event, time ──> JobMachine ──> commands
//                       └────────> state, for observers
//
// The head drives it with what really happens; tests drive it with seeded schedules in virtual
// time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/channel/silence.h"
#include "launcher/job/job_command.h"
#include "launcher/job/job_event.h"
#include "launcher/job/job_state.h"
#include "launcher/job/restart_policy.h"
#include "launcher/system/end_requests.h"

namespace paceline::launcher {

/// A value: a copy decides as the original would.
class JobMachine {
 public:
  struct Rules {
    Duration timeout{};  ///< of the whole job; 0: none
    Duration grace{};    ///< of ranks, from the first signal to SIGKILL
    Duration max_silence = kMaxSilence;
    RestartRules restarts{};
    std::uint32_t first_epoch = 0;  ///< greater if earlier runs of the job are known
  };

  /// How long the ranks of a lost host may run on. An agent that is cut off notices that within
  /// watchful_socket.h's kSilence and ends them.
  static constexpr Duration kFencing = std::chrono::seconds(10);
  /// The same for a host that is silent: its agent may be stopped, and its spawn helper, which
  /// notices that later than the head, ends them.
  static constexpr Duration kSilentFencing = kAfterTheHead + std::chrono::seconds(2);

  /// Hosts in the order of their ranks. Together they have the ranks 0, 1, … of the job.
  JobMachine(const Rules& rules, const std::vector<JobHost>& hosts);

  /// The commands are to be carried out in their order. Events of one moment may come in any order.
  std::vector<JobCommand> handle(TimePoint now, const JobEvent& event);
  /// The agent of the host sent something: output too, which is no event.
  void heard(TimePoint now, std::size_t host);
  /// When it wants TimePassed; TimePoint::max(): not at all.
  TimePoint next_timer() const;
  const JobState& state() const { return state_; }

 private:
  enum class Timer : std::uint8_t {
    kSilence,  // look for silent hosts
    kTimeout,  // the job has lasted too long
    kSettled,  // reports of earlier failures have come
    kBlame,    // the rank that is blamed has had time to end
    kRestart,  // the delay of a restart is over
  };

  // Events.
  void on(const JobBegins& begins);
  void on(const EpochRecorded& recorded);
  void on(const HostsFound& found);
  void on(const AgentSaid& said);
  void on(const AgentLost& lost);
  void on(const StartRefused& refused);
  void on(const SignalCame& came);
  void on(const OutputBroke& broke);
  void on(const ReadingPaused&) { reading_ = false; }
  void on(const ReadingResumed&) { reading_ = true; }
  void on(const TimePassed& passed);

  // What agents say.
  void ready(std::size_t host, const messages::Ready& ready);
  void rank_ended(std::size_t host, const messages::RankExited& exited);
  void tell_those_who_wait(const messages::RankExited& exited);
  void refused(std::size_t host, const messages::RankRefused& refused);
  void asked_to_end(std::size_t host, int signal);

  // Hosts that do not answer.
  void look_for_silent_hosts();
  bool is_needed(std::size_t host) const;
  struct Loss {
    std::string why;
    std::string at_the_end{};     // what the message says in addition if the job ends
    Duration fencing = kFencing;  // until its ranks have ended
  };
  void lose(std::size_t host, const Loss& loss);
  void note_loss(std::size_t host, const std::string& why);
  void fail_host(std::size_t host, const Loss& loss);

  // The end.
  void judge();
  void settled();
  void blame(const RankEnd& culprit);
  void stop(StopCause cause, int signal, const std::string& why);
  void order_stop(int signal);
  void tell_all_to_stop(int signal);
  void finish(std::size_t host);
  bool all_finished() const;
  void end();
  void say_victims();

  // Starts.
  void begin_epoch();
  void epoch_ends(const std::string& why);
  void stop_to_restart(const std::string& why);
  void wait_to_restart(TimePoint until);
  void restart_or_find_hosts();
  void restart();

  void take_hosts(const std::vector<JobHost>& hosts);
  void start(std::size_t host, const messages::Meeting& meeting = {});
  RankState* find(std::size_t host, std::uint32_t rank);
  void set_timer(Duration delay, Timer timer) { timers_.emplace(after(delay), timer); }
  TimePoint after(Duration delay) const { return Deadline::after(now_, delay).moment(); }
  void command(JobCommand command) { commands_.push_back(std::move(command)); }

  const Rules rules_;
  JobState state_;
  std::vector<Silence> silences_;  // by host
  std::multimap<TimePoint, Timer> timers_;
  EndRequests requests_;
  RestartPolicy restarts_;
  TimePoint fenced_{};        // when the ranks of all lost hosts have ended
  TimePoint restarts_at_{};   // the end of the wait for a restart
  bool epoch_begun_ = false;  // its begin has been recorded
  bool epoch_runs_ = false;   // its end has not
  bool judging_ = false;      // a rank has failed; the culprit is decided after some time
  bool reading_ = true;
  TimePoint now_{};                   // of the event
  std::vector<JobCommand> commands_;  // of the event
};

}  // namespace paceline::launcher
