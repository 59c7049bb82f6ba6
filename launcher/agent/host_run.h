// The ranks of one start on this host: from the order to start to the last byte of their output.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/agent/oom_service.h"
#include "launcher/agent/rank_service.h"
#include "launcher/agent/rank_streams.h"
#include "launcher/agent/stack_service.h"
#include "launcher/agent/stack_taker.h"
#include "launcher/agent/store_service.h"
#include "launcher/agent/telemetry_service.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/program_file.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class HostRun {
 public:
  struct Handlers {
    /// To the spawn helper.
    std::function<Status(const messages::ToHelper&, std::vector<UniqueFd>)> order;
    /// To the head.
    std::function<void(const messages::FromAgent&)> tell;
    /// Bytes for the head that wait.
    std::function<std::size_t()> backlog_bytes;
    /// As TelemetryService::ReadGpus.
    std::function<GpuWatch::Gpus()> read_gpus;
    /// Takes the stacks of the ranks. It goes on afterwards.
    StackTaker& stacks;
    /// No rank is left, or none will start. May be called by start().
    std::function<void()> ended;
  };

  /// `standard_input` goes to the rank that has it. `helper` is the spawn helper.
  HostRun(EventLoop& loop, messages::Start start, UniqueFd standard_input, pid_t helper,
          Handlers handlers);

  /// Has the ranks spawned, in the control group `cgroup`, if it is not empty. An error: the job
  /// cannot go on.
  Status start(const std::string& cgroup);
  void receive(const messages::FromHelper& message);
  void take_input(const messages::ToAgent& message) { streams_->take_input(message); }
  void take_clock(const messages::ClockTold& told) { telemetry_->take_clock(told); }
  void take_stacks(const messages::TakeStacks& wanted);
  void ended_well(const messages::RankEnded& ended);
  /// The agent has sent SIGKILL to the ranks.
  void ranks_were_killed() { oom_->ranks_were_killed(); }
  /// While off, the ranks' output for the head waits.
  void set_reading(bool on) { streams_->set_reading(on); }
  /// No process is left that could write. Calls `finished`, at once or later, when all output is
  /// passed on.
  void finish(std::function<void()> finished) { streams_->finish(std::move(finished)); }
  /// True if ranks of other hosts may need the store after the ranks of this one have ended.
  bool serves_others() const { return meeting_->serves_others(); }

 private:
  template <class Service, class... Arguments>
  Service* add(Arguments&&... arguments);
  Status prepare();
  Status spawn(const HostFacts& facts, int program, int local_rank);
  void refuse(messages::RankRefused refused);
  void rank_ended(const messages::ProcessExited& exited);
  void count_end();

  const Clock& clock_;  // the loop's
  const messages::Start start_;
  const Handlers handlers_;
  // The table of services. Descriptors of a rank have the order of the table.
  std::vector<std::unique_ptr<RankService>> services_;
  RankStreams* streams_ = nullptr;  // in the table, as are those that follow
  TelemetryService* telemetry_ = nullptr;
  StoreService* meeting_ = nullptr;
  OomService* oom_ = nullptr;
  StackService* stacks_ = nullptr;
  std::size_t ranks_left_ = 0;
};

}  // namespace paceline::launcher
