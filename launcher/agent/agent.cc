// Runs in the agent.
#include "launcher/agent/agent.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "comm/base/cpus.h"
#include "comm/base/environment.h"
#include "comm/base/try.h"
#include "comm/job_key.h"
#include "comm/store_server.h"
#include "launcher/agent/flight_book.h"
#include "launcher/agent/host.h"
#include "launcher/agent/program_file.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/agent/rank_output.h"
#include "launcher/agent/spawn_helper.h"
#include "launcher/channel/channel.h"
#include "launcher/process/process.h"
#include "launcher/process/system.h"
#include "telemetry/log.h"

namespace paceline::launcher {
namespace {

// Bytes that wait for the head before the ranks' pipes are left alone.
constexpr std::size_t kMaxBacklogBytes = std::size_t{1} << 20;
constexpr Duration kHelperPatience = std::chrono::seconds(7);  // its own sweep takes up to 5
constexpr Duration kSweep = std::chrono::seconds(2);

// Where the ranks' shell would look for programs.
std::string search_path(const Variables& changes) {
  const char* path = value_of("PATH", changes, ::getenv);
  return path != nullptr ? path : "/bin:/usr/bin";
}

// As severe as the ranks' own. Where their environment is malformed they say so themselves.
std::shared_ptr<Log> make_log(const Variables& changes) {
  const auto lookup = [&changes](const char* name) { return value_of(name, changes, ::getenv); };
  const Result<Environment> environment = read_environment(lookup);
  return make_stderr_log({.level = environment.ok() ? environment->log_level : LogLevel::kWarning});
}

class Agent {
 public:
  Agent(UniqueFd head, std::unique_ptr<ChildProcess> helper, UniqueFd standard_input)
      : loop_(clock_),
        head_(loop_, std::move(head), "head"),
        helper_process_(std::move(helper)),
        helper_(loop_, helper_process_->take_socket(), "spawn helper"),
        standard_input_(std::move(standard_input)),
        flights_(clock_) {}

  Status run();

 private:
  struct Rank {
    std::unique_ptr<RankOutput> output;
    std::unique_ptr<RankOutput> error;
  };

  void receive(const messages::ToAgent& message);
  Status start(const messages::Start& start);
  Result<HostFacts> prepare(const messages::Start& start);
  Status send_program(const messages::Start& start, const HostFacts& facts, std::string path);
  Status spawn(const messages::Start& start, const HostFacts& facts, int local_rank);
  Result<std::unique_ptr<RankOutput>> make_output(std::uint32_t rank, messages::Stream stream,
                                                  UniqueFd& rank_end);

  void receive(const messages::FromHelper& message);
  void rank_ended(const messages::ProcessExited& exited);
  void refuse(messages::RankRefused refused);
  void count_end();
  void stop(const messages::Stop& stop);
  void signal_ranks(int signal);

  void fail(const Status& why);
  void leave();
  void helper_gone();
  void tell(const messages::FromAgent& message);
  void set_reading(bool on);

  SystemClock clock_;
  EventLoop loop_;
  SocketChannel<messages::FromAgent, messages::ToAgent> head_;
  std::unique_ptr<ChildProcess> helper_process_;
  SocketChannel<messages::ToHelper, messages::FromHelper> helper_;
  UniqueFd standard_input_;
  FlightBook flights_;
  std::unique_ptr<StoreServer> store_;  // asks flights_
  UniqueFd job_key_;
  bool split_lines_ = false;
  bool terminal_ = false;
  std::uint32_t first_rank_ = 0;
  std::vector<Rank> ranks_;
  std::size_t ranks_left_ = 0;
  bool reading_ = true;
  bool leaving_ = false;
  bool finished_ = false;  // nothing more will be told
};

Status Agent::run() {
  head_.open([this](const messages::ToAgent& message) { receive(message); },
             [this](const Status&) {
               if (finished_) loop_.stop();
               leave();
             });
  head_.when_drained([this] {
    if (finished_) loop_.stop();
    set_reading(true);
  });
  helper_.open([this](const messages::FromHelper& message) { receive(message); },
               [this](const Status& why) {
                 fail(why.ok() ? Status(Code::kInternal, Scope::kProcess,
                                        "the spawn helper was killed, and all ranks with it")
                               : why);
               });
  return loop_.run();
}

void Agent::receive(const messages::ToAgent& message) {
  if (message.has_stop()) return stop(message.stop());
  if (!ranks_.empty() || leaving_) return;  // an agent serves one job
  if (const Status status = start(message.start()); !status.ok()) fail(status);
}

// ---- The start -----------------------------------------------------------------------------

Status Agent::start(const messages::Start& start) {
  if (start.command().empty() || start.local_ranks() == 0)
    return Status(Code::kInternal, Scope::kOperation, "the head asked for a job without ranks");
  const ProgramFile program =
      find_program(start.command(0), search_path(start.environment()), start.working_directory());
  if (program.error != 0) {
    messages::RankRefused refused;
    refused.set_rank(start.first_rank());
    refused.set_error(program.error);
    refused.set_text(program.text);
    refuse(std::move(refused));
    leave();
    return Status();
  }
  PACELINE_TRY_ASSIGN(const HostFacts facts, prepare(start));
  PACELINE_TRY(send_program(start, facts, program.path));
  for (std::size_t i = 0; i < ranks_.size(); ++i)
    PACELINE_TRY(spawn(start, facts, static_cast<int>(i)));
  return Status();
}

Result<HostFacts> Agent::prepare(const messages::Start& start) {
  const std::string store = "@paceline-" + start.job_id();
  PACELINE_TRY_ASSIGN(const int port, free_port());
  const auto live = [this](std::string_view key) { return flights_.answer(key); };
  PACELINE_TRY_ASSIGN(
      store_, StoreServer::serve_unix(store, {.log = make_log(start.environment()), .live = live}));
  PACELINE_TRY_ASSIGN(const JobKey key, JobKey::generate());
  PACELINE_TRY_ASSIGN(job_key_, key.to_memfd());
  split_lines_ = start.split_lines();
  terminal_ = start.terminal();
  first_rank_ = start.first_rank();
  ranks_left_ = start.local_ranks();
  ranks_.resize(ranks_left_);
  return HostFacts{.allowed_cpus = allowed_cpus(), .master_port = port, .store = "unix:" + store};
}

Status Agent::send_program(const messages::Start& start, const HostFacts& facts, std::string path) {
  const auto is_inherited = [](std::string_view name) {
    return ::getenv(std::string(name).c_str()) != nullptr;
  };
  messages::ToHelper message;
  messages::Program& program = *message.mutable_program();
  program.set_path(std::move(path));
  *program.mutable_arguments() = start.command();
  program.set_working_directory(start.working_directory());
  *program.mutable_environment() = suggested_variables(start, facts, is_inherited);
  program.mutable_environment()->MergeFrom(start.environment());
  return helper_.send(message);
}

Status Agent::spawn(const messages::Start& start, const HostFacts& facts, int local_rank) {
  Rank& rank = ranks_[static_cast<std::size_t>(local_rank)];
  const std::uint32_t number = first_rank_ + static_cast<std::uint32_t>(local_rank);
  UniqueFd input = std::move(standard_input_);  // the first rank's; the others find none
  UniqueFd output;
  UniqueFd error;
  if (!input || number != 0) {
    PACELINE_TRY_ASSIGN(input, open_null());
  }
  PACELINE_TRY_ASSIGN(rank.output, make_output(number, messages::STANDARD_OUTPUT, output));
  PACELINE_TRY_ASSIGN(rank.error, make_output(number, messages::STANDARD_ERROR, error));
  PACELINE_TRY_ASSIGN(UniqueFd key, duplicate(job_key_.get()));
  PACELINE_TRY_ASSIGN(UniqueFd flight, FlightRing::create_memory());
  PACELINE_TRY_ASSIGN(auto ring, FlightRing::open(flight.get()));
  flights_.enter(static_cast<int>(number), std::move(ring));

  std::vector<UniqueFd> descriptors;  // in the order that spawn_helper.h gives
  for (UniqueFd* descriptor : {&input, &output, &error, &key, &flight})
    descriptors.push_back(std::move(*descriptor));
  messages::ToHelper message;
  message.mutable_spawn()->set_rank(number);
  *message.mutable_spawn()->mutable_environment() = identity_variables(start, facts, local_rank);
  return helper_.send(message, std::move(descriptors));
}

Result<std::unique_ptr<RankOutput>> Agent::make_output(std::uint32_t rank, messages::Stream stream,
                                                       UniqueFd& rank_end) {
  PACELINE_TRY_ASSIGN(Pipe pipe, make_pipe());
  ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
  rank_end = std::move(pipe.write_end);
  std::optional<LineSplitter> splitter;
  if (split_lines_) splitter.emplace(LineSplitter::Options{.transient = terminal_});
  auto output = std::make_unique<RankOutput>(
      loop_, std::move(pipe.read_end), std::move(splitter),
      [this, rank, stream](std::string_view text, messages::Ending ending) {
        messages::FromAgent message;
        message.mutable_output()->set_rank(rank);
        message.mutable_output()->set_stream(stream);
        message.mutable_output()->set_ending(ending);
        message.mutable_output()->set_text(text.data(), text.size());
        tell(message);
      });
  output->set_reading(reading_);
  return output;
}

// ---- The ranks -----------------------------------------------------------------------------

void Agent::receive(const messages::FromHelper& message) {
  if (message.has_exited()) return rank_ended(message.exited());
  if (message.has_refused()) {
    refuse(message.refused());
    return count_end();
  }
  messages::FromAgent forward;
  *forward.mutable_started() = message.started();
  tell(forward);
}

void Agent::rank_ended(const messages::ProcessExited& exited) {
  const std::size_t place = exited.rank() - first_rank_;
  if (place >= ranks_.size()) return;
  const Rank& rank = ranks_[place];
  rank.output->drain();
  rank.error->drain();
  messages::FromAgent message;
  message.mutable_exited()->set_rank(exited.rank());
  message.mutable_exited()->set_wait_status(exited.wait_status());
  message.mutable_exited()->set_time_ns(exited.time_ns());
  message.mutable_exited()->set_last_operation(
      flights_.last_operation(static_cast<int>(exited.rank())));
  tell(message);
  count_end();
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
  signal_ranks(stop.signal());
  if (stop.signal() == SIGKILL) return;
  loop_.after(Duration(stop.grace_ns()), [this] { signal_ranks(SIGKILL); });
}

void Agent::signal_ranks(int signal) {
  messages::ToHelper message;
  message.mutable_signal()->set_signal(signal);
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
  loop_.when_readable(helper_process_->pidfd(), [this] { helper_gone(); });
  loop_.after(kHelperPatience, [this] { helper_gone(); });
}

void Agent::helper_gone() {
  if (!helper_process_) return;
  loop_.forget_readable(helper_process_->pidfd());
  helper_process_.reset();
  // Where the helper was killed, its orphans have come here.
  if (const Status status = end_descendants(clock_, Deadline::after(clock_, kSweep)); !status.ok())
    fail(status);
  for (const Rank& rank : ranks_) {
    if (rank.output) rank.output->finish();
    if (rank.error) rank.error->finish();
  }
  messages::FromAgent message;
  message.mutable_finished();
  tell(message);
  finished_ = true;
  if (head_.backlog_bytes() == 0) loop_.stop();
}

void Agent::tell(const messages::FromAgent& message) {
  // Only a message beyond the frame's bound fails, and output comes in pieces far below it.
  if (!head_.send(message).ok()) loop_.stop();
  if (head_.backlog_bytes() > kMaxBacklogBytes) set_reading(false);
}

void Agent::set_reading(bool on) {
  if (reading_ == on) return;
  reading_ = on;
  for (const Rank& rank : ranks_) {
    if (rank.output) rank.output->set_reading(on);
    if (rank.error) rank.error->set_reading(on);
  }
}

Status serve(UniqueFd head) {
  PACELINE_TRY(adopt_orphans());
  PACELINE_TRY_ASSIGN(auto helper, ChildProcess::fork([&head](UniqueFd agent) {
                        head.reset();
                        run_spawn_helper(std::move(agent));
                      }));
  raise_descriptor_limit();
  PACELINE_TRY_ASSIGN(UniqueFd standard_input, duplicate(STDIN_FILENO));
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  return Agent(std::move(head), std::move(helper), std::move(standard_input)).run();
}

}  // namespace

void run_agent(UniqueFd head) {
  ::setsid();  // the terminal's signals are for the head alone
  // Standard error may have no reader any more: the job goes on. Ranks get the default back.
  ::signal(SIGPIPE, SIG_IGN);
  if (const Status status = serve(std::move(head)); !status.ok()) report("agent", status);
}

}  // namespace paceline::launcher
