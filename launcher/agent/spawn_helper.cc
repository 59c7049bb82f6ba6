// Runs in the spawn helper, except for become_rank(), which is what a rank does before its program.
#include "launcher/agent/spawn_helper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/channel/channel.h"
#include "launcher/process/process.h"
#include "launcher/process/signal_source.h"
#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kSweep = std::chrono::seconds(5);

// Why a rank could not execute its program, on the pipe that a successful exec closes.
struct ExecFailure {
  int error = 0;
  bool in_directory = false;
};

// All that a rank needs between fork and exec, so that it allocates nothing there.
struct Exec {
  const char* path;
  const char* directory;  // null: stay
  char* const* arguments;
  char* const* shell_arguments;  // for a script without an interpreter line
  char* const* environment;
  std::array<int, kRankDescriptors> descriptors;
  int failure_pipe;
  pid_t helper;
};

[[noreturn]] void give_up(const Exec& exec, bool in_directory) {
  const ExecFailure failure{.error = errno, .in_directory = in_directory};
  // The pipe is empty and the helper holds the other end: this neither blocks nor fails.
  [[maybe_unused]] const ssize_t written = ::write(exec.failure_pipe, &failure, sizeof failure);
  ::_exit(1);
}

// The descriptors move out of the way first: one may lie where another has to go.
void place_descriptors(const Exec& exec) {
  std::array<int, kRankDescriptors> away{};
  for (std::size_t i = 0; i < away.size(); ++i)
    away[i] = ::fcntl(exec.descriptors[i], F_DUPFD_CLOEXEC, kRankDescriptors);
  for (std::size_t i = 0; i < away.size(); ++i) {
    if (away[i] < 0 || ::dup2(away[i], static_cast<int>(i)) < 0) give_up(exec, false);
  }
  // What the launcher itself inherited stays with it. Kernels before 5.11 refuse; the launcher's
  // own descriptors are close-on-exec there, too.
  ::close_range(kRankDescriptors, ~0u, CLOSE_RANGE_CLOEXEC);
}

// A session of its own makes the rank a group that can be killed whole, and lets rank 0 read a
// terminal although it is not in the foreground.
[[noreturn]] void become_rank(Exec exec) {
  die_with(exec.helper);
  ::setsid();
  exec.failure_pipe = ::fcntl(exec.failure_pipe, F_DUPFD_CLOEXEC, kRankDescriptors);
  place_descriptors(exec);
  if (exec.directory != nullptr && ::chdir(exec.directory) != 0) give_up(exec, true);
  reset_signals();
  ::execve(exec.path, exec.arguments, exec.environment);
  if (errno == ENOEXEC) ::execve(exec.shell_arguments[0], exec.shell_arguments, exec.environment);
  give_up(exec, false);
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

class SpawnHelper {
 public:
  explicit SpawnHelper(UniqueFd agent) : loop_(clock_), agent_(loop_, std::move(agent), "agent") {}

  Status run() {
    PACELINE_TRY(adopt_orphans());
    PACELINE_TRY_ASSIGN(const auto signals,
                        SignalSource::watch(loop_, {SIGCHLD}, [this](int) { reap(); }));
    agent_.open([this](const messages::ToHelper& message) { receive(message); },
                [this](const Status&) { loop_.stop(); });
    PACELINE_TRY(loop_.run());
    signal_ranks(SIGKILL);
    return end_descendants(clock_, Deadline::after(clock_, kSweep));
  }

 private:
  struct Rank {
    std::uint32_t rank = 0;
    UniqueFd failure_pipe;  // until it is known whether the program was executed
    bool refused = false;
  };

  struct Ended {
    pid_t pid = 0;
    int wait_status = 0;
  };

  void receive(const messages::ToHelper& message);
  void set_program(const messages::Program& program);
  Status spawn(const messages::Spawn& request);
  Result<pid_t> fork_rank(const messages::Spawn& request,
                          const std::array<UniqueFd, kRankDescriptors>& descriptors,
                          int failure_pipe);
  void settle(pid_t pid, Rank& rank);
  void refuse(std::uint32_t rank, int error, const std::string& text);
  void signal_ranks(int signal);
  void reap();
  void tell_end(const Ended& ended);
  void tell(const messages::FromHelper& message);

  SystemClock clock_;
  EventLoop loop_;
  SocketChannel<messages::FromHelper, messages::ToHelper> agent_;
  std::string path_;
  std::string directory_;
  std::vector<std::string> arguments_;
  std::vector<std::string> environment_;
  std::map<pid_t, Rank> ranks_;
};

void SpawnHelper::receive(const messages::ToHelper& message) {
  if (message.has_program()) set_program(message.program());
  if (message.has_signal()) signal_ranks(message.signal().signal());
  if (!message.has_spawn()) return;
  if (const Status status = spawn(message.spawn()); !status.ok())
    refuse(message.spawn().rank(), EAGAIN, status.text());
}

void SpawnHelper::set_program(const messages::Program& program) {
  path_ = program.path();
  directory_ = program.working_directory();
  arguments_.assign(program.arguments().begin(), program.arguments().end());
  environment_ = merge_environment(inherited_environment(), program.environment());
}

Status SpawnHelper::spawn(const messages::Spawn& request) {
  std::array<UniqueFd, kRankDescriptors> descriptors;
  for (UniqueFd& descriptor : descriptors) {
    PACELINE_TRY_ASSIGN(descriptor, agent_.take_descriptor());
  }
  PACELINE_TRY_ASSIGN(Pipe pipe, make_pipe());
  PACELINE_TRY_ASSIGN(const pid_t pid, fork_rank(request, descriptors, pipe.write_end.get()));
  const int fd = pipe.read_end.get();
  Rank& rank = ranks_[pid];
  rank.rank = request.rank();
  rank.failure_pipe = std::move(pipe.read_end);
  loop_.when_readable(fd, [this, pid, &rank] { settle(pid, rank); });
  return Status();
}

Result<pid_t> SpawnHelper::fork_rank(const messages::Spawn& request,
                                     const std::array<UniqueFd, kRankDescriptors>& descriptors,
                                     int failure_pipe) {
  std::vector<std::string> environment = merge_environment(environment_, request.environment());
  std::vector<std::string> shell = arguments_;
  shell.front() = path_;
  shell.insert(shell.begin(), "/bin/sh");
  const std::vector<char*> arguments = pointers(arguments_);
  const std::vector<char*> shell_arguments = pointers(shell);
  const std::vector<char*> variables = pointers(environment);
  Exec exec{.path = path_.c_str(),
            .directory = directory_.empty() ? nullptr : directory_.c_str(),
            .arguments = arguments.data(),
            .shell_arguments = shell_arguments.data(),
            .environment = variables.data(),
            .descriptors = {},
            .failure_pipe = failure_pipe,
            .helper = ::getpid()};
  for (std::size_t i = 0; i < descriptors.size(); ++i) exec.descriptors[i] = descriptors[i].get();
  const pid_t pid = ::fork();
  if (pid == 0) become_rank(exec);
  if (pid > 0) return pid;
  return system_error("fork a rank (ask for fewer, or raise `ulimit -u`)");
}

// The failure pipe has closed or says why: the program runs, or never will.
void SpawnHelper::settle(pid_t pid, Rank& rank) {
  ExecFailure failure;
  const ssize_t got = ::read(rank.failure_pipe.get(), &failure, sizeof failure);
  loop_.forget_readable(rank.failure_pipe.get());
  rank.failure_pipe.reset();
  if (got == sizeof failure) {
    rank.refused = true;
    const std::string what = failure.in_directory
                                 ? "cannot enter the working directory '" + directory_ + "': "
                                 : "cannot execute '" + path_ + "': ";
    return refuse(rank.rank, failure.error, what + std::strerror(failure.error));
  }
  messages::FromHelper message;
  message.mutable_started()->set_rank(rank.rank);
  message.mutable_started()->set_pid(pid);
  tell(message);
}

void SpawnHelper::refuse(std::uint32_t rank, int error, const std::string& text) {
  messages::FromHelper message;
  message.mutable_refused()->set_rank(rank);
  message.mutable_refused()->set_error(error);
  message.mutable_refused()->set_text(text);
  tell(message);
}

// A rank that has not yet come to its setsid() has no group and gets the signal itself.
void SpawnHelper::signal_ranks(int signal) {
  for (const auto& [pid, rank] : ranks_) {
    if (::kill(-pid, signal) != 0) ::kill(pid, signal);
  }
}

void SpawnHelper::reap() {
  std::vector<Ended> ended;
  for (;;) {
    // Not reaped yet, the leader keeps its number, so no stranger can have taken its group's.
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) break;
    const bool is_rank = ranks_.count(info.si_pid) > 0;
    if (is_rank) ::kill(-info.si_pid, SIGKILL);
    int wait_status = 0;
    ::waitpid(info.si_pid, &wait_status, 0);
    if (is_rank) ended.push_back({.pid = info.si_pid, .wait_status = wait_status});
  }
  // The kernel does not say which of them ended first. A rank that was killed is more likely the
  // cause of another one's failure than its consequence.
  std::stable_partition(ended.begin(), ended.end(),
                        [](const Ended& rank) { return WIFSIGNALED(rank.wait_status); });
  for (const Ended& rank : ended) tell_end(rank);
}

void SpawnHelper::tell_end(const Ended& ended) {
  const auto found = ranks_.find(ended.pid);
  if (found->second.failure_pipe) settle(ended.pid, found->second);
  if (!found->second.refused) {
    messages::FromHelper message;
    message.mutable_exited()->set_rank(found->second.rank);
    message.mutable_exited()->set_wait_status(ended.wait_status);
    message.mutable_exited()->set_time_ns(clock_.now().time_since_epoch().count());
    tell(message);
  }
  ranks_.erase(found);
}

// Only a message beyond the frame's bound fails, and these are short.
void SpawnHelper::tell(const messages::FromHelper& message) {
  if (const Status status = agent_.send(message); !status.ok()) loop_.stop();
}

}  // namespace

void run_spawn_helper(UniqueFd agent) {
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  const Status status = SpawnHelper(std::move(agent)).run();
  if (!status.ok()) report("spawn helper", status);
}

}  // namespace paceline::launcher
