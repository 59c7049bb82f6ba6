// Runs in the agent.
#include "launcher/agent/agent.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/try.h"
#include "comm/job_key.h"
#include "comm/store_server.h"
#include "launcher/agent/flight_book.h"
#include "launcher/agent/helper_watch.h"
#include "launcher/agent/machine_scout.h"
#include "launcher/agent/meeting.h"
#include "launcher/agent/oom_watch.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/agent/rank_report.h"
#include "launcher/agent/rank_stop.h"
#include "launcher/agent/rank_streams.h"
#include "launcher/agent/self_description.h"
#include "launcher/agent/spawn_helper.h"
#include "launcher/agent/spawn_orders.h"
#include "launcher/channel/channel.h"
#include "launcher/channel/silence.h"
#include "launcher/connectivity/trials.h"
#include "launcher/system/process.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/program_file.h"
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
        std::unique_ptr<MachineScout> scout)
      : clock_(loop.clock()),
        loop_(loop),
        connection_(std::move(head)),
        head_(*connection_.channel),
        helper_process_(std::move(helper)),
        helper_(loop_, helper_process_->take_socket(), "spawn helper"),
        self_(loop_, std::move(scout),
              [this](const messages::FromAgent& message) { tell(message); }),
        flights_(clock_),
        trials_(loop_, [this](const messages::FromAgent& message) { tell(message); }),
        stop_(loop_,
              {.signal_ranks = [this](const messages::SignalRanks& order) { signal_ranks(order); },
               .tell = [this](const messages::FromAgent& message) { tell(message); }}) {}

  Status run();

 private:
  void check_lifeline();
  void receive(const messages::ToAgent& message);
  Status start(const messages::Start& start);
  Result<HostFacts> prepare(const messages::Start& start);
  void refuse_all(const messages::Start& start, const ProgramFile& program);
  Status spawn(const messages::Start& start, const HostFacts& facts, int program, int local_rank);

  void receive(const messages::FromHelper& message);
  void rank_ended(const messages::ProcessExited& exited);
  void refuse(messages::RankRefused refused);
  void count_end();
  void tell_store(const messages::RankEnded& ended);
  void stop(const messages::Stop& stop);
  void signal_ranks(const messages::SignalRanks& order);
  void begin_to_say_alive();
  void say_alive();

  void fail(const Status& why);
  void leave();
  void helper_gone();
  void finish();
  void leave_host();
  void tell(const messages::FromAgent& message);

  const Clock& clock_;
  EventLoop& loop_;
  HeadConnection connection_;
  HeadChannel& head_;
  std::unique_ptr<ChildProcess> helper_process_;
  SocketChannel<messages::ToHelper, messages::FromHelper> helper_;
  SelfDescription self_;  // before the job starts
  FlightBook flights_;
  Trials trials_;  // before the job starts
  RankStop stop_;
  std::unique_ptr<StoreServer> store_;  // asks flights_
  UniqueFd job_key_;
  std::unique_ptr<RankStreams> streams_;  // once the job has started
  std::optional<OomWatch> oom_;           // likewise
  std::size_t ranks_left_ = 0;
  HelperWatch helper_watch_;
  bool says_alive_ = false;
  bool killed_ = false;         // the ranks were sent SIGKILL
  bool serves_others_ = false;  // the store also serves other hosts
  bool leaving_ = false;
  bool finished_ = false;  // nothing more will be told
};

Status Agent::run() {
  head_.open([this](const messages::ToAgent& message) { receive(message); },
             [this](const Status&) {
               if (!helper_process_) loop_.stop();
               if (streams_) streams_->set_reading(true);  // for the files alone, from now on
               leave();
             });
  head_.when_drained([this] {
    if (finished_) leave_host();
    if (streams_) streams_->set_reading(true);
  });
  helper_.open([this](const messages::FromHelper& message) { receive(message); },
               [this](const Status& why) {
                 fail(why.ok() ? Status(Code::kInternal, Scope::kProcess,
                                        "the spawn helper was killed, and all ranks with it")
                               : why);
               });
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
    return streams_ ? streams_->take_input(message) : void();
  if (message.has_rank_ended()) return tell_store(message.rank_ended());
  if (message.has_describe()) return self_.answer(message.describe());
  if (streams_ || leaving_) return;  // an agent serves one job
  const Status status = message.has_start() ? start(message.start()) : trials_.receive(message);
  if (!status.ok()) fail(status);
}

// ---- The start -----------------------------------------------------------------------------

Status Agent::start(const messages::Start& start) {
  begin_to_say_alive();
  helper_watch_.begin(start);
  trials_.end();
  self_.end(host_cpus(start));
  if (start.apps().empty() || start.ranks().empty())
    return Status(Code::kInternal, Scope::kOperation, "the launcher sent a job without ranks");
  if (!stop_.begin(Duration(start.grace_ns()), start.signals_groups())) {
    leave();
    return Status();
  }
  std::vector<ProgramFile> programs;
  for (const messages::App& app : start.apps()) {
    ProgramFile program =
        find_program(app.command(0), search_path(app.environment()), app.working_directory());
    if (program.error != 0) {
      refuse_all(start, program);
      return Status();
    }
    programs.push_back(std::move(program));
  }
  PACELINE_TRY_ASSIGN(const HostFacts facts, prepare(start));
  if (const std::string cgroup = connection_.cgroup.value_or(start.cgroup()); !cgroup.empty()) {
    messages::ToHelper message;
    message.set_cgroup(cgroup);
    PACELINE_TRY(helper_.send(message));
  }
  oom_.emplace(OomWatch::open());
  int local_rank = 0;
  for (int i = 0; i < start.apps_size(); ++i) {
    const messages::App& app = start.apps(i);
    PACELINE_TRY(helper_.send(
        program_of(start, app, facts, programs[static_cast<std::size_t>(i)], ::getenv)));
    for (std::uint32_t n = 0; n < app.ranks(); ++n)
      PACELINE_TRY(spawn(start, facts, i, local_rank++));
  }
  return Status();
}

void Agent::refuse_all(const messages::Start& start, const ProgramFile& program) {
  messages::RankRefused refused;
  refused.set_rank(start.ranks(0));
  refused.set_error(program.error);
  refused.set_text(program.text);
  refuse(std::move(refused));
  leave();
}

Result<HostFacts> Agent::prepare(const messages::Start& start) {
  PACELINE_TRY_ASSIGN(JobKey key, job_key_of(start));
  PACELINE_TRY_ASSIGN(job_key_, key.to_memfd());
  HostFacts facts{
      .allowed_cpus = allowed_cpus(),
      .meeting = start.meeting(),
      .key_file = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(job_key_.get())};
  if (!start.has_meeting()) {
    const auto live = [this](std::string_view what) { return flights_.answer(what); };
    PACELINE_TRY_ASSIGN(OpenMeeting open, open_meeting(start, std::move(key), live));
    facts.meeting = std::move(open.meeting);
    store_ = std::move(open.store);
    serves_others_ = !start.address().empty();
  }
  ranks_left_ = static_cast<std::size_t>(start.ranks_size());
  streams_ =
      std::make_unique<RankStreams>(loop_, start, std::move(connection_.standard_input),
                                    [this](const messages::FromAgent& message) { tell(message); });
  PACELINE_TRY(streams_->make_files());
  messages::FromAgent ready;
  *ready.mutable_ready()->mutable_meeting() = facts.meeting;
  ready.mutable_ready()->set_time_ns(clock_.now().time_since_epoch().count());
  tell(ready);
  return facts;
}

Status Agent::spawn(const messages::Start& start, const HostFacts& facts, int program,
                    int local_rank) {
  PACELINE_TRY_ASSIGN(RankStreams::RankEnds ends, streams_->open_next());
  PACELINE_TRY_ASSIGN(UniqueFd key, duplicate(job_key_.get()));
  PACELINE_TRY_ASSIGN(UniqueFd flight, FlightRing::create_memory());
  PACELINE_TRY_ASSIGN(auto ring, FlightRing::open(flight.get()));
  flights_.enter(static_cast<int>(start.ranks(local_rank)), std::move(ring));

  std::vector<UniqueFd> descriptors;  // in the order that spawn_helper.h gives
  for (UniqueFd* descriptor : {&ends.input, &ends.output, &ends.error, &key, &flight})
    descriptors.push_back(std::move(*descriptor));
  return helper_.send(spawn_of(start, facts, program, local_rank, ::getenv),
                      std::move(descriptors));
}

// ---- The ranks -----------------------------------------------------------------------------

void Agent::receive(const messages::FromHelper& message) {
  helper_watch_.heard();
  if (message.has_alive()) return;
  if (message.has_exited()) return rank_ended(message.exited());
  if (message.has_refused()) {
    refuse(message.refused());
    return count_end();
  }
  if (oom_) oom_->started(static_cast<pid_t>(message.started().pid()));
  messages::FromAgent forward;
  *forward.mutable_started() = message.started();
  tell(forward);
}

void Agent::rank_ended(const messages::ProcessExited& exited) {
  streams_->drain(exited.rank());
  messages::FromAgent message;
  messages::RankExited& report = *message.mutable_exited();
  report = rank_report(exited, flights_);
  if (oom_ && !killed_) {
    const auto where = oom_->killed(static_cast<pid_t>(exited.pid()), exited.wait_status());
    if (where) report.set_oom_cgroup(*where);
  }
  tell(message);
  count_end();
}

void Agent::tell_store(const messages::RankEnded& ended) {
  if (store_) store_->rank_ended(static_cast<int>(ended.rank()), ended.how());
}

void Agent::refuse(messages::RankRefused refused) {
  messages::FromAgent message;
  *message.mutable_refused() = std::move(refused);
  tell(message);
}

void Agent::count_end() {
  if (--ranks_left_ == 0) leave();
}

void Agent::stop(const messages::Stop& stop) {
  begin_to_say_alive();
  stop_.order(stop);
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
  killed_ |= order.signal() == SIGKILL;
  messages::ToHelper message;
  *message.mutable_signal() = order;
  if (const Status status = helper_.send(message); !status.ok()) fail(status);
}

// ---- The end -------------------------------------------------------------------------------

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
  // Where the helper was killed, its orphans have come here.
  if (const Status status = end_descendants(clock_, Deadline::after(clock_, kOrphanSweep));
      !status.ok())
    fail(status);
  if (!streams_) return finish();
  streams_->finish([this] { finish(); });
}

void Agent::finish() {
  messages::FromAgent message;
  message.mutable_finished();
  tell(message);
  finished_ = true;
  leave_host();
}

// Ranks of other hosts may still need the store. It exists until the connection to the head ends.
void Agent::leave_host() {
  if (head_.backlog_bytes() == 0 && !serves_others_) loop_.stop();
}

void Agent::tell(const messages::FromAgent& message) {
  // Only a message beyond the frame's bound fails, and output comes in pieces far below it.
  if (!head_.send(message).ok()) loop_.stop();
  if (streams_ && head_.backlog_bytes() > kMaxBacklogBytes) streams_->set_reading(false);
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
  raise_descriptor_limit();
  const SystemClock clock;
  EventLoop loop(clock);
  PACELINE_TRY_ASSIGN(HeadConnection head, road.take(loop));
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  return Agent(loop, std::move(head), std::move(helper), std::move(scout)).run();
}

}  // namespace paceline::launcher
