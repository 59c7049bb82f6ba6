// Runs in the agent.
#include "launcher/agent/agent.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/gpu_watch.h"
#include "launcher/agent/helper_watch.h"
#include "launcher/agent/host_run.h"
#include "launcher/agent/machine_scout.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/agent/rank_stop.h"
#include "launcher/agent/self_description.h"
#include "launcher/agent/spawn_helper.h"
#include "launcher/agent/stack_taker.h"
#include "launcher/channel/channel.h"
#include "launcher/channel/silence.h"
#include "launcher/connectivity/trials.h"
#include "launcher/system/process.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// Bytes that wait for the head before the ranks' pipes are left alone.
constexpr std::size_t kMaxBacklogBytes = std::size_t{1} << 20;
constexpr Duration kHelperPatience = std::chrono::seconds(7);  // its own sweep takes up to 5
constexpr Duration kSignalPatience = std::chrono::milliseconds(500);
constexpr Duration kOrphanSweep = std::chrono::seconds(2);

class Agent {
 public:
  Agent(EventLoop& loop, HeadConnection head, std::unique_ptr<ChildProcess> helper,
        std::unique_ptr<MachineScout> scout, std::unique_ptr<GpuWatch> gpus,
        std::unique_ptr<StackTaker> stacks)
      : clock_(loop.clock()),
        loop_(loop),
        connection_(std::move(head)),
        head_(*connection_.channel),
        helper_process_(std::move(helper)),
        helper_(loop_, helper_process_->take_socket(), "spawn helper"),
        gpus_(std::move(gpus)),
        stacks_(std::move(stacks)),
        self_(loop_, std::move(scout),
              [this](const messages::FromAgent& message) { tell(message); }),
        stop_(loop_,
              {.signal_ranks = [this](const messages::SignalRanks& order) { signal_ranks(order); },
               .tell = [this](const messages::FromAgent& message) { tell(message); }}) {}

  Status run();

 private:
  void check_lifeline();
  void receive(const messages::ToAgent& message);
  Status try_others(const messages::ToAgent& message);
  Status start(const messages::Start& start);
  Result<UniqueFd> standard_input();

  void receive(const messages::FromHelper& message);
  void stop(const messages::Stop& stop);
  void signal_ranks(const messages::SignalRanks& order);
  void take_stacks(const messages::TakeStacks& wanted);
  void tell_stacks(const messages::StacksTaken& taken);
  void begin_to_say_alive();
  void say_alive();

  void run_ended();
  void swept(const messages::Swept& swept);
  void fail(const Status& why);
  void leave();
  void helper_gone();
  void tell_finished();
  void finish();
  void leave_host();
  void tell(const messages::FromAgent& message);

  const Clock& clock_;
  EventLoop& loop_;
  HeadConnection connection_;
  HeadChannel& head_;
  std::unique_ptr<ChildProcess> helper_process_;
  SocketChannel<messages::ToHelper, messages::FromHelper> helper_;
  const std::unique_ptr<GpuWatch> gpus_;
  const std::unique_ptr<StackTaker> stacks_;
  SelfDescription self_;
  std::optional<Trials> trials_;  // before a start
  RankStop stop_;
  std::unique_ptr<HostRun> run_;  // once ranks were to start
  HelperWatch helper_watch_;
  std::uint32_t epoch_ = 0;  // of run_
  bool stays_ = false;       // another start may follow
  bool is_running_ = false;  // run_ has not been told to be finished
  bool says_alive_ = false;
  bool leaving_ = false;
  bool head_gone_ = false;
  bool finished_ = false;  // nothing more will be told
};

Status Agent::run() {
  head_.open([this](const messages::ToAgent& message) { receive(message); },
             [this](const Status&) {
               head_gone_ = true;
               if (!helper_process_) loop_.stop();
               if (run_) run_->set_reading(true);  // for the files alone, from now on
               leave();
             });
  head_.when_drained([this] {
    if (finished_) leave_host();
    if (run_) run_->set_reading(true);
  });
  helper_.open([this](const messages::FromHelper& message) { receive(message); },
               [this](const Status& why) {
                 fail(why.ok() ? Status(Code::kInternal, Scope::kProcess,
                                        "the spawn helper was killed, and all ranks with it")
                               : why);
               });
  stacks_->open(loop_, [this](const messages::StacksTaken& taken) { tell_stacks(taken); });
  if (connection_.lifeline)
    loop_.when_readable(connection_.lifeline.get(), [this] { check_lifeline(); });
  PACELINE_TRY(stop_.watch());
  return loop_.run();
}

// Nothing is sent through the lifeline; only its end matters. When all processes of a host are told
// to end, the program that started the agent ends at once, perhaps before the agent gets its own
// signal. The wait leaves the ranks their grace period.
void Agent::check_lifeline() {
  char byte = 0;
  if (::read(connection_.lifeline.get(), &byte, 1) > 0) return;
  loop_.forget_readable(connection_.lifeline.get());
  loop_.after(kSignalPatience, [this] {
    if (!stop_.is_ending())
      fail(Status(Code::kUnavailable, Scope::kProcess,
                  "the program that started the agent has ended"));
  });
}

void Agent::receive(const messages::ToAgent& message) {
  if (message.has_stop()) return stop(message.stop());
  if (message.has_signal()) return stop_.pass_on(message.signal().signal());
  if (message.has_input() || message.has_window_size())
    return run_ ? run_->take_input(message) : void();
  if (message.has_rank_ended()) return run_ ? run_->ended_well(message.rank_ended()) : void();
  if (message.has_clock_told()) return run_ ? run_->take_clock(message.clock_told()) : void();
  if (message.has_take_stacks()) return take_stacks(message.take_stacks());
  if (message.has_describe()) return self_.answer(message.describe());
  if (is_running_ || leaving_) return;  // one start at a time
  const Status status = message.has_start() ? start(message.start()) : try_others(message);
  if (!status.ok()) fail(status);
}

// Each start has its own hosts, so each survey begins anew.
Status Agent::try_others(const messages::ToAgent& message) {
  if (message.has_survey() || !trials_)
    trials_.emplace(loop_, [this](const messages::FromAgent& told) { tell(told); });
  return trials_->receive(message);
}

// ---- The ranks -----------------------------------------------------------------------------

Status Agent::start(const messages::Start& start) {
  begin_to_say_alive();
  helper_watch_.begin(start);
  trials_.reset();
  self_.end(host_cpus(start));
  if (start.apps().empty() || start.ranks().empty())
    return Status(Code::kInternal, Scope::kOperation, "the launcher sent a job without ranks");
  epoch_ = start.epoch();
  stays_ = start.stays();
  if (!stop_.begin(Duration(start.grace_ns()), start.signals_groups())) {
    leave();
    return Status();
  }
  PACELINE_TRY_ASSIGN(UniqueFd input, standard_input());
  run_.reset();  // with the store of the start before
  is_running_ = true;
  run_ = std::make_unique<HostRun>(
      loop_, start, std::move(input), helper_process_->pid(),
      HostRun::Handlers{
          .order =
              [this](const messages::ToHelper& message, std::vector<UniqueFd> descriptors) {
                return helper_.send(message, std::move(descriptors));
              },
          .tell = [this](const messages::FromAgent& message) { tell(message); },
          .backlog_bytes = [this] { return head_.backlog_bytes(); },
          .read_gpus =
              [this] {
                gpus_->ask(loop_);
                return gpus_->gpus(clock_.now());
              },
          .stacks = *stacks_,
          .ended = [this] { run_ended(); }});
  return run_->start(connection_.cgroup.value_or(start.cgroup()));
}

// Each start gets what is left of the input.
Result<UniqueFd> Agent::standard_input() {
  if (!stays_ || !connection_.standard_input) return std::move(connection_.standard_input);
  return duplicate(connection_.standard_input.get());
}

void Agent::receive(const messages::FromHelper& message) {
  helper_watch_.heard();
  if (message.has_swept()) return swept(message.swept());
  if (run_ && !message.has_alive()) run_->receive(message);
}

void Agent::stop(const messages::Stop& stop) {
  begin_to_say_alive();
  stop_.order(stop);
}

// Without ranks of a start, the answer has none.
void Agent::take_stacks(const messages::TakeStacks& wanted) {
  if (run_) return run_->take_stacks(wanted);
  messages::StacksTaken none;
  none.set_number(wanted.number());
  tell_stacks(none);
}

void Agent::tell_stacks(const messages::StacksTaken& taken) {
  messages::FromAgent message;
  message.set_epoch(epoch_);
  *message.mutable_stacks_taken() = taken;
  if (!finished_) tell(message);
}

void Agent::begin_to_say_alive() {
  if (!std::exchange(says_alive_, true)) say_alive();
}

void Agent::say_alive() {
  messages::FromAgent message;
  message.mutable_alive();
  if (head_.backlog_bytes() == 0) tell(message);
  const Status watched = leaving_ ? Status() : helper_watch_.look(helper_, helper_process_->pid());
  if (!watched.ok()) return fail(watched);
  loop_.after(kAlivePeriod, [this] { say_alive(); });
}

void Agent::signal_ranks(const messages::SignalRanks& order) {
  if (run_ && order.signal() == SIGKILL) run_->ranks_were_killed();
  messages::ToHelper message;
  *message.mutable_signal() = order;
  if (const Status status = helper_.send(message); !status.ok()) fail(status);
}

// ---- The end -------------------------------------------------------------------------------

// All ranks have ended. What they have left is killed, and the helper stays if another start may
// follow.
void Agent::run_ended() {
  if (!stays_) return leave();
  messages::ToHelper message;
  message.mutable_sweep();
  if (const Status status = helper_.send(message); !status.ok()) fail(status);
}

void Agent::swept(const messages::Swept& swept) {
  if (leaving_) return;
  if (!swept.failure().empty())
    return fail(Status(Code::kInternal, Scope::kProcess, swept.failure()));
  run_->finish([this] {
    is_running_ = false;
    tell_finished();
  });
}

void Agent::fail(const Status& why) {
  messages::FromAgent message;
  message.mutable_failure()->set_text(why.text());
  tell(message);
  leave();
}

// The helper kills what is left of the ranks when its socket closes, and ends.
void Agent::leave() {
  if (std::exchange(leaving_, true)) return;
  helper_.close();
  helper_process_->let_end();
  loop_.when_readable(helper_process_->pidfd(), [this] { helper_gone(); });
  loop_.after(kHelperPatience, [this] { helper_gone(); });
}

void Agent::helper_gone() {
  if (!helper_process_) return;
  loop_.forget_readable(helper_process_->pidfd());
  helper_process_.reset();
  const pid_t watch = gpus_->end();
  // Where the helper was killed, its orphans have come here.
  stacks_->end();
  // The kernel may not end a process that asks a driver or looks at a process that hangs.
  const auto may_stay = [&](pid_t child) {
    return child == watch || ::getpgid(child) == stacks_->pid();
  };
  const Status ended = end_descendants(clock_, Deadline::after(clock_, kOrphanSweep), 0, may_stay);
  if (!ended.ok()) fail(ended);
  if (!is_running_) return finish();
  run_->finish([this] { finish(); });
}

void Agent::tell_finished() {
  messages::FromAgent message;
  message.set_epoch(epoch_);
  message.mutable_finished();
  tell(message);
}

void Agent::finish() {
  tell_finished();
  finished_ = true;
  leave_host();
}

// Ranks of other hosts may still need the store. It exists until the connection to the head ends.
void Agent::leave_host() {
  const bool serves_others = run_ && run_->serves_others();
  if (head_gone_ || (head_.backlog_bytes() == 0 && !serves_others)) loop_.stop();
}

void Agent::tell(const messages::FromAgent& message) {
  // Only a message beyond the frame's bound fails, and output comes in pieces far below it.
  if (!head_.send(message).ok()) loop_.stop();
  if (run_ && head_.backlog_bytes() > kMaxBacklogBytes) run_->set_reading(false);
}

}  // namespace

Status run_agent(HeadRoad& road, FunctionRef<void(bool)> last) {
  // The terminal's signals are for the head alone. If an engine has made this process the leader of
  // a group, it may kill the group. The helper, which clears up after a killed agent, leaves it.
  const bool has_own_group = ::setsid() >= 0;
  // Standard error may have no reader any more: the job goes on. Ranks get the default back.
  ::signal(SIGPIPE, SIG_IGN);
  outlive_signals();
  const pid_t self = ::getpid();
  PACELINE_TRY(adopt_orphans());
  PACELINE_TRY_ASSIGN(auto helper,
                      ChildProcess::fork([&road, last, self, has_own_group](UniqueFd agent) {
                        if (!has_own_group) ::setpgid(0, 0);
                        road.leave();
                        run_spawn_helper(std::move(agent));
                        last(::getppid() != self || is_ending(self));
                      }));
  PACELINE_TRY_ASSIGN(auto scout, MachineScout::send([&road] { road.leave(); }));
  PACELINE_TRY_ASSIGN(auto gpus, GpuWatch::send([&road] { road.leave(); }));
  PACELINE_TRY_ASSIGN(auto stacks, StackTaker::send([&road] { road.leave(); }));
  raise_descriptor_limit();
  const SystemClock clock;
  EventLoop loop(clock);
  PACELINE_TRY_ASSIGN(HeadConnection head, road.take(loop));
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  return Agent(loop, std::move(head), std::move(helper), std::move(scout), std::move(gpus),
               std::move(stacks))
      .run();
}

}  // namespace paceline::launcher
