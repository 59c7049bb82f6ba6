// Takes the stacks of ranks for clients of the control service: asks the agents of their hosts, and
// gathers the answers. Neither the loop nor a thread waits meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <vector>

#include <paceline/status.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/control/control_service.h"
#include "launcher/job/job_observer.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/timer_group.h"

namespace paceline::launcher {

/// Belongs to the loop's thread, and goes before the loop. Requests that are pending then are
/// dropped.
class StackRequests final : public JobObserver {
 public:
  static constexpr Duration kPatience = std::chrono::seconds(5);
  static constexpr std::size_t kMaxRanks = 16;
  static constexpr std::size_t kMaxPending = 4;

  struct Options {
    /// Null until the agents of all hosts are connected.
    std::function<const JobState*()> state;
    /// To the agent of a host. False: it has none now.
    std::function<bool(std::size_t host, const messages::ToAgent& message)> send;
  };

  StackRequests(EventLoop& loop, Options options) : options_(std::move(options)), timers_(loop) {}

  /// Calls `done` once, at once or within kPatience. Each rank has at least one process, which says
  /// why it has no more. An error: the request cannot be done.
  void take(const std::vector<std::uint32_t>& ranks, RankStacksTaken done);
  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

 private:
  struct Pending {
    std::int64_t number = 0;
    StacksByRank stacks;
    std::map<std::size_t, std::vector<std::uint32_t>> missing;  // ranks by host
    RankStacksTaken done;
  };
  using Place = std::list<Pending>::iterator;

  Status check(const std::vector<std::uint32_t>& ranks) const;
  void ask(Pending& pending);
  void answered(std::size_t host, const messages::StacksTaken& taken);
  void give_up(Pending& pending, std::size_t host, const std::string& why);
  void end_if_whole(Place pending);
  std::string name_of(std::size_t host) const;

  const Options options_;
  std::list<Pending> pending_;
  std::int64_t last_number_ = 0;
  TimerGroup timers_;
};

/// Processes as an agent sent them: bounded, and with text that may be shown. Pure.
std::vector<job::v1::Process> checked_processes(const messages::RankStacks& stacks);

}  // namespace paceline::launcher
