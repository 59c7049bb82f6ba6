// A job in virtual time: JobMachine, and agents that behave as real ones do, without processes.
//
// Messages between the head and one agent stay in order, and take a random time. What befalls the
// job is a list of Mishaps. The same seed gives the same run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/base/random.h"
#include "launcher/job/job_machine.h"

namespace paceline::launcher::testing {

enum class Mishap : std::uint8_t {
  kRankFails,    // by itself; others may then fail and blame it
  kRankKilled,   // by a signal
  kAgentLost,    // with its ranks
  kAgentSilent,  // it runs no more, and its channel stays
  kAgentFails,   // it cannot go on
  kAskedToEnd,   // an agent gets a signal
  kRefused,      // the program of a host cannot be executed
  kSignal,       // to the head, perhaps twice
  kOutputBroke,
  kTimeout,
  kReadingPaused,  // for a while
  kLogFails,       // the membership log cannot be written any more
  kDoubled,        // messages come twice, and after the agent's last
};

struct Plan {
  std::size_t hosts = 1;
  std::size_t ranks_per_host = 1;
  Duration max_delay = std::chrono::milliseconds(5);  // of a message
  int max_restarts = 0;
  std::size_t spares = 0;  // hosts that have no ranks at first
  Duration restart_delay = std::chrono::seconds(1);
  std::vector<Mishap> mishaps;
};
/// A plan that a seed draws.
Plan drawn_plan(Random& random);

/// The end of a rank as its host knows it.
struct TrueEnd {
  std::uint32_t rank = 0;
  int wait_status = 0;
  TimePoint when;
  bool by_order = false;  // a stop had reached it
};

class SimulatedJob {
 public:
  /// `tell` gets a line for each event and each command; may be empty.
  SimulatedJob(const Plan& plan, std::uint64_t seed, std::function<void(const std::string&)> tell);

  /// The first rule that is broken, in words; empty: none.
  std::string run();
  int exit_code() const { return launcher::exit_code(machine_.state().outcome); }
  std::optional<StopCause> cause() const { return machine_.state().outcome.cause; }
  std::size_t events() const { return events_; }

 private:
  struct Rank {
    std::uint32_t number = 0;
    bool running = false;
    bool stubborn = false;  // only SIGKILL ends it
    bool ordered = false;   // to end
  };
  struct Agent {
    std::string name;
    std::vector<Rank> ranks;
    Duration clock_ahead{};
    TimePoint last_out, last_in;  // when the last message on its way arrives
    std::uint32_t epoch = 0;      // of its start
    bool started = false;
    bool says_alive = false;
    bool gone = false;      // its channel has closed, or will never bring anything
    bool finished = false;  // it has sent Finished
    bool lost = false;      // by a mishap
    bool failed = false;    // it has said that it cannot go on
    TimePoint ranks_end{};  // at the latest, if it is lost
    bool lost_told = false;
    bool refuses = false;
  };

  void befall(Mishap mishap);
  void fail_rank(std::size_t at, int wait_status);
  void after(Duration delay, std::function<void()> action) {
    actions_.emplace(now_ + delay, std::move(action));
  }
  Duration up_to(Duration most) {
    return Duration(random_.below(static_cast<std::uint64_t>(most.count())));
  }
  void break_rule(const std::string& text);

  // The head.
  void handle(const JobEvent& event);
  void carry_out(const StartHost& start);
  void carry_out(const Record& record);
  void carry_out(const FindHosts& find);
  void carry_out(const TellHost& tell);
  void carry_out(const TellAllHosts& tell);
  void carry_out(const Say& say);
  void carry_out(const LimitOutput&) {}
  void carry_out(const EndGrace&) {}
  void carry_out(const DropOutput&) {}
  void carry_out(const EndJob&);

  // The hosts.
  void find_hosts();
  std::size_t new_agent(const std::string& name, const std::vector<std::uint32_t>& ranks);
  std::optional<std::size_t> host_of(std::size_t agent) const;
  std::vector<JobHost> job_hosts() const;

  // Each start has a store of its own.
  static std::string meeting_of(std::uint32_t epoch) {
    return "tcp:h0:" + std::to_string(4000 + epoch);
  }

  // The agents (simulated_agents.cc), by their place in agents_.
  void send(std::size_t at, std::function<void()> order);
  void say(std::size_t at, const messages::FromAgent& message);
  void start(std::size_t at, std::uint32_t epoch);
  void start_ranks(std::size_t at);
  void say_alive(std::size_t at);
  void stop(std::size_t at, int signal, Duration grace);
  void end_rank(std::size_t at, std::size_t local, int wait_status, std::optional<int> blamed = {});
  void end_rank_later(std::size_t at, std::size_t local, int wait_status, Duration delay,
                      std::optional<int> blamed = {});
  void finish(std::size_t at);
  void lose(std::size_t at);
  template <class Event>
  void arrive(std::size_t at, Event event);
  std::size_t some_agent() { return hosts_[random_.below(hosts_.size())]; }

  // The rules (rules.cc).
  void judge();
  void judge_culprit();
  void judge_lost_hosts();
  bool can_end_by(StopCause cause) const;

  bool stays() const { return plan_.max_restarts > 0; }

  const Plan plan_;
  Random random_;
  const std::function<void(const std::string&)> tell_;
  TimePoint now_{std::chrono::hours(1)};
  std::multimap<TimePoint, std::function<void()>> actions_;
  std::vector<Agent> agents_;       // all that there have been
  std::vector<std::size_t> hosts_;  // the agents of the machine's hosts
  std::vector<TrueEnd> ends_;       // of the latest start
  std::vector<std::string> said_;
  std::size_t spares_left_;
  Membership log_;
  JobMachine machine_;
  bool doubles_ = false;
  bool log_fails_ = false;
  bool paused_ = false;
  std::vector<std::function<void()>> held_;  // arrivals while reading is paused
  std::size_t ended_ = 0;                    // EndJob commands
  std::size_t events_ = 0;
  std::string broken_;
};

}  // namespace paceline::launcher::testing
