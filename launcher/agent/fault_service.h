// Makes the faults of a user's script happen to the ranks of a host, or to the host:
// options/fault_script.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "comm/base/unique_fd.h"
#include "launcher/agent/flight_book.h"
#include "launcher/agent/link_faults.h"
#include "launcher/agent/rank_service.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/timer_group.h"

namespace paceline::launcher {

class FaultService final : public RankService {
 public:
  struct Options {
    std::shared_ptr<FlightBook> flights;
    pid_t helper = 0;  ///< the spawn helper, which stops with the host
    std::function<void(const messages::FromAgent&)> tell;
    std::function<std::size_t()> backlog_bytes;  ///< of `tell`
  };

  FaultService(EventLoop& loop, Options options)
      : loop_(loop), options_(std::move(options)), timers_(loop), end_of_host_(loop) {}

  Status prepare(const messages::Start& start) override;
  Status equip(int local_rank, RankEquipment& rank) override;
  void started(const messages::RankStarted& rank) override;
  void ended(const messages::ProcessExited& exited, messages::RankExited& report) override;

 private:
  void begin();
  void end();
  void look_at_operations();
  void hold(std::uint32_t rank);
  std::vector<messages::Fault> take(const std::function<bool(const messages::Fault&)>& is_due);
  void begin_fault(const messages::Fault& fault);
  void end_host(const messages::Fault& fault);
  void end_host_when_told(messages::Fault::Kind kind, Deadline deadline);
  void exit(const messages::Fault& fault);
  void slow(std::uint32_t rank, double percent, TimePoint until, bool runs);
  void fill(const messages::Fault& fault);
  void impair(const messages::Fault& fault);
  bool send(std::uint32_t rank, int signal) const;
  bool send_group(std::uint32_t rank, int signal) const;
  void say(const messages::Fault& fault, const std::string& outcome) const;
  void notice(const std::string& text) const;

  EventLoop& loop_;
  const Options options_;
  std::vector<std::uint32_t> ranks_;  // by local rank
  // Faults of this start that have not happened. Timers refer to elements of timed_.
  std::vector<messages::Fault> at_operations_;
  std::list<messages::Fault> timed_;
  struct Process {
    pid_t pid = 0;
    UniqueFd pidfd;
  };
  std::map<std::uint32_t, Process> running_;  // by rank
  std::size_t started_ = 0;
  std::vector<UniqueFd> fillers_;  // deleted files, whose space is free once they are closed
  std::optional<LinkFaults> links_;
  TimerGroup timers_;       // while ranks run
  TimerGroup end_of_host_;  // comes also if the last rank has ended meanwhile
};

}  // namespace paceline::launcher
