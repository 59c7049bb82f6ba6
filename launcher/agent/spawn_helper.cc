// Runs in the spawn helper.
#include "launcher/agent/spawn_helper.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/agent/rank_environment.h"
#include "launcher/agent/rank_process.h"
#include "launcher/channel/channel.h"
#include "launcher/channel/message_socket.h"
#include "launcher/channel/silence.h"
#include "launcher/system/binding.h"
#include "launcher/system/cgroup.h"
#include "launcher/system/process.h"
#include "launcher/system/signal_source.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr Duration kSweep = std::chrono::seconds(5);
constexpr Duration kTracedPeriod = std::chrono::milliseconds(10);  // of looks at an ended rank

class SpawnHelper {
 public:
  explicit SpawnHelper(UniqueFd agent) : loop_(clock_), agent_(loop_, std::move(agent), "agent") {}

  Status run() {
    PACELINE_TRY(adopt_orphans());
    deaths_ = UniqueFd(::epoll_create1(EPOLL_CLOEXEC));
    if (!deaths_) return system_error("watch the ends of ranks");
    PACELINE_TRY_ASSIGN(const auto signals,
                        SignalSource::watch(loop_, {SIGCHLD}, [this](int) { reap(); }));
    agent_.open([this](const messages::ToHelper& message) { receive(message); },
                [this](const Status&) { loop_.stop(); });
    PACELINE_TRY(loop_.run());
    return end_all(kill_cgroup);
  }

 private:
  struct Rank {
    std::uint32_t rank = 0;
    const RankImage* image = nullptr;
    UniqueFd pidfd;             // in deaths_
    UniqueFd socket;            // until it is known whether the program was executed
    std::int64_t begun_ns = 0;  // when it was let go to execute it
    bool tells_binding = false;
    bool refused = false;
  };

  void receive(const messages::ToHelper& message);
  Status end_all(void (*end_cgroup)(const std::string& folder));
  void sweep();
  void watch_agent();
  void add_program(const messages::Program& program);
  void enter_cgroup(const std::string& folder);
  Status spawn(const messages::Spawn& request);
  Result<pid_t> fork_rank(const messages::Spawn& request, const RankImage& image,
                          const std::vector<UniqueFd>& descriptors, int socket);
  void settle(pid_t pid, Rank& rank);
  void refuse(std::uint32_t rank, int error, const std::string& text);
  void signal_ranks(const messages::SignalRanks& order);
  void signal_groups(int signal);
  void reap_children();
  bool keep_rest(pid_t group, const messages::FromHelper& end);
  void tell_ends_of_rests();
  Status watch_death(pid_t pid, Rank& rank);
  void reap();
  void reap_ranks();
  void reap_rank(pid_t pid);
  void tell(const messages::FromHelper& message);

  SystemClock clock_;
  const pid_t agent_pid_ = ::getppid();
  Silence agent_silence_;
  Duration max_silence_{};  // of the agent; zero until the agent's first Alive
  EventLoop loop_;
  SocketChannel<messages::FromHelper, messages::ToHelper> agent_;
  std::deque<RankImage> images_;  // addresses stay; in the order of the Programs
  std::map<pid_t, Rank> ranks_;
  bool spares_rest_ = false;  // what an ended rank leaves of its group is not killed at once
  std::map<pid_t, messages::FromHelper> rests_;  // such groups, and what is to be told of the rank
  const rlimit descriptor_limit_ = raise_descriptor_limit();
  UniqueFd deaths_;  // an epoll of the ranks' pidfds
  std::string cgroup_folder_;
  UniqueFd cgroup_;  // closed: ranks stay in this process's own
  std::int64_t last_time_ns_ = 0;
};

void SpawnHelper::receive(const messages::ToHelper& message) {
  agent_silence_.broken();
  if (message.has_alive()) {
    const Duration limit = Duration(message.alive().max_silence_ns()) + kAfterTheHead;
    if (std::exchange(max_silence_, limit) == Duration::zero()) watch_agent();
  }
  if (message.has_program()) add_program(message.program());
  if (message.has_signal()) signal_ranks(message.signal());
  if (message.has_cgroup()) enter_cgroup(message.cgroup());
  if (message.has_sweep()) sweep();
  if (!message.has_spawn()) return;
  if (const Status status = spawn(message.spawn()); !status.ok())
    refuse(message.spawn().rank(), EAGAIN, status.text());
}

Status SpawnHelper::end_all(void (*end_cgroup)(const std::string& folder)) {
  signal_groups(SIGKILL);
  if (cgroup_) end_cgroup(cgroup_folder_);
  return end_descendants(clock_, Deadline::after(clock_, kSweep));
}

// The agent has heard of the ends of all ranks.
void SpawnHelper::sweep() {
  const Status ended = end_all(empty_cgroup);
  for (const auto& [pid, rank] : ranks_)
    if (rank.socket) loop_.forget_readable(rank.socket.get());
  ranks_.clear();
  rests_.clear();
  images_.clear();
  spares_rest_ = false;
  messages::FromHelper message;
  message.mutable_swept()->set_failure(std::string(ended.text()));
  tell(message);
}

// Cleans up if the agent does not run. The head has given up by then, and may be on another host.
void SpawnHelper::watch_agent() {
  messages::FromHelper message;
  message.mutable_alive();
  if (agent_.backlog_bytes() == 0) tell(message);
  loop_.after(kAlivePeriod, [this] { watch_agent(); });
  if (!agent_silence_.look(max_silence_)) return;
  report("spawn helper",
         Status(Code::kPeerLost, Scope::kProcess,
                "the agent (pid " + std::to_string(agent_pid_) + ") has not run for " +
                    seconds_text(max_silence_) + "; it and all ranks on this host are killed"));
  if (::getppid() == agent_pid_) ::kill(agent_pid_, SIGKILL);
  loop_.stop();
}

// A start begins. A stop of earlier ranks is over.
void SpawnHelper::add_program(const messages::Program& program) {
  spares_rest_ = false;
  images_.push_back(
      {.path = program.path(),
       .directory = program.working_directory(),
       .arguments = {program.arguments().begin(), program.arguments().end()},
       .environment = merge_environment(inherited_environment(), program.environment()),
       .is_shell_script = program.is_shell_script()});
}

void SpawnHelper::enter_cgroup(const std::string& folder) {
  cgroup_folder_ = folder;
  cgroup_ = UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

Status SpawnHelper::spawn(const messages::Spawn& request) {
  std::vector<UniqueFd> descriptors;
  for (std::uint32_t i = 0; i < request.descriptors(); ++i) {
    PACELINE_TRY_ASSIGN(UniqueFd descriptor, agent_.take_descriptor());
    descriptors.push_back(std::move(descriptor));
  }
  if (request.program() >= images_.size())
    return Status(Code::kInternal, Scope::kOperation,
                  "the agent asked for a program that it had not sent");
  PACELINE_TRY_ASSIGN(auto ends, make_socket_pair());
  const RankImage& image = images_[request.program()];
  PACELINE_TRY_ASSIGN(const pid_t pid, fork_rank(request, image, descriptors, ends.second.get()));
  const int fd = ends.first.get();
  Rank& rank = ranks_[pid];
  rank.rank = request.rank();
  rank.image = &image;
  rank.tells_binding = request.tells_binding();
  rank.socket = std::move(ends.first);
  loop_.when_readable(fd, [this, pid, &rank] { settle(pid, rank); });
  const Status watched = watch_death(pid, rank);
  if (watched.ok()) {
    rank.begun_ns = clock_.now().time_since_epoch().count();
    // It may have been killed.
    [[maybe_unused]] const ssize_t told = ::send(fd, "", 1, MSG_NOSIGNAL);
    return watched;
  }
  // Nobody would hear of its end.
  ::kill(pid, SIGKILL);
  loop_.forget_readable(fd);
  ranks_.erase(pid);
  return watched;
}

// The kernel puts what becomes ready into an epoll's list as it happens: so it tells in which order
// ranks have ended, however late this process looks.
Status SpawnHelper::watch_death(pid_t pid, Rank& rank) {
  rank.pidfd = open_pidfd(pid);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = static_cast<std::uint64_t>(pid)}};
  if (rank.pidfd && ::epoll_ctl(deaths_.get(), EPOLL_CTL_ADD, rank.pidfd.get(), &event) == 0) {
    return Status();
  }
  return system_error("watch a rank");
}

Result<pid_t> SpawnHelper::fork_rank(const messages::Spawn& request, const RankImage& image,
                                     const std::vector<UniqueFd>& descriptors, int socket) {
  if (descriptors.size() > std::size_t{kMaxRankDescriptors})
    return Status(Code::kInternal, Scope::kOperation,
                  "a rank cannot begin with more than " + std::to_string(kMaxRankDescriptors) +
                      " descriptors");
  std::vector<std::string> environment =
      merge_environment(image.environment, request.environment());
  std::vector<std::string> words = image.arguments;
  std::vector<std::string> shell = words;
  shell.front() = image.path;
  shell.insert(shell.begin(), "/bin/sh");
  const Binding binding(CpuSet::parse(request.cpus()).value_or(CpuSet()),
                        {request.memory_nodes().begin(), request.memory_nodes().end()});
  const std::vector<char*> arguments = exec_words(words);
  const std::vector<char*> shell_arguments = exec_words(shell);
  const std::vector<char*> variables = exec_words(environment);
  RankExec exec{.path = image.path.c_str(),
                .directory = image.directory.empty() ? nullptr : image.directory.c_str(),
                .arguments = arguments.data(),
                .shell_arguments = image.is_shell_script ? shell_arguments.data() : nullptr,
                .environment = variables.data(),
                .descriptors = {},
                .descriptor_count = static_cast<int>(descriptors.size()),
                .socket = socket,
                .helper = ::getpid(),
                .tracer = static_cast<pid_t>(request.tracer()),
                .descriptor_limit = descriptor_limit_,
                .binding = &binding};
  for (std::size_t i = 0; i < descriptors.size(); ++i) exec.descriptors[i] = descriptors[i].get();
  const pid_t pid = fork_into(cgroup_);
  if (pid == 0) become_rank(exec);
  if (pid > 0) return pid;
  return system_error("fork a rank (ask for fewer ranks, or raise `ulimit -u`)");
}

void add_binding(pid_t pid, messages::RankStarted& started) {
  const auto bound = bound_to(pid);
  if (!bound) return;
  started.set_cpus(bound->cpus.to_text());
  started.set_memory(bound->memory);
}

// The socket has closed, or says why the program never will run.
void SpawnHelper::settle(pid_t pid, Rank& rank) {
  ExecFailure failure;
  const ssize_t got = ::read(rank.socket.get(), &failure, sizeof failure);
  loop_.forget_readable(rank.socket.get());
  rank.socket.reset();
  if (got == sizeof failure) {
    rank.refused = true;
    const std::string what = failure.in_directory ? "cannot enter the working directory '" +
                                                        rank.image->directory + "': "
                                                  : "cannot execute '" + rank.image->path + "': ";
    return refuse(rank.rank, failure.error, what + std::strerror(failure.error));
  }
  messages::FromHelper message;
  message.mutable_started()->set_rank(rank.rank);
  message.mutable_started()->set_pid(pid);
  message.mutable_started()->set_time_ns(rank.begun_ns);
  if (rank.tells_binding) add_binding(pid, *message.mutable_started());
  tell(message);
}

void SpawnHelper::refuse(std::uint32_t rank, int error, const std::string& text) {
  messages::FromHelper message;
  message.mutable_refused()->set_rank(rank);
  message.mutable_refused()->set_error(error);
  message.mutable_refused()->set_text(text);
  tell(message);
}

void SpawnHelper::signal_ranks(const messages::SignalRanks& order) {
  const int signal = order.signal();
  if (order.spares_rest()) spares_rest_ = true;
  if (order.reach() == messages::WHOLE_GROUP) return signal_groups(signal);
  if (order.reach() == messages::REST_OF_GROUP)
    return signal_members([this](pid_t group) { return ranks_.count(group) > 0; }, signal);
  for (const auto& [pid, rank] : ranks_) ::kill(pid, signal);
}

// A rank that has not yet come to its setpgid() has no group and gets the signal itself.
void SpawnHelper::signal_groups(int signal) {
  if (signal == SIGKILL) spares_rest_ = false;
  for (const auto& [pid, rank] : ranks_) {
    if (::kill(-pid, signal) != 0) ::kill(pid, signal);
  }
  if (rests_.empty()) return;
  const std::set<pid_t> left = groups_of_children();
  for (const auto& [group, end] : rests_)
    if (left.contains(group)) ::kill(-group, signal);
}

void SpawnHelper::reap() {
  reap_children();
  tell_ends_of_rests();
}

void SpawnHelper::reap_children() {
  for (;;) {
    reap_ranks();
    // What is left are orphans that were adopted, or a rank that has ended since.
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return;
    if (ranks_.count(info.si_pid) == 0) ::waitpid(info.si_pid, nullptr, 0);
  }
}

void SpawnHelper::reap_ranks() {
  std::array<epoll_event, 64> ended;
  for (;;) {
    const int count = ::epoll_wait(deaths_.get(), ended.data(), static_cast<int>(ended.size()), 0);
    if (count <= 0) return;
    for (int i = 0; i < count; ++i)
      reap_rank(static_cast<pid_t>(ended[static_cast<std::size_t>(i)].data.u64));
  }
}

void SpawnHelper::reap_rank(pid_t pid) {
  if (ranks_.count(pid) == 0) return;
  // Not reaped yet, the leader keeps its number, so no stranger can have taken its group's. And the
  // kernel still says what it was bound to.
  ::kill(-pid, spares_rest_ ? SIGTERM : SIGKILL);
  if (spares_rest_) ::kill(-pid, SIGCONT);
  if (Rank& ended = ranks_.at(pid); ended.socket) settle(pid, ended);
  int wait_status = 0;
  rusage usage{};
  // A debugger, or the process that takes stacks, sees the end of what it traces first.
  if (::wait4(pid, &wait_status, WNOHANG, &usage) == 0) {
    ::epoll_ctl(deaths_.get(), EPOLL_CTL_DEL, ranks_.at(pid).pidfd.get(), nullptr);
    loop_.after(kTracedPeriod, [this, pid] { reap_rank(pid); });
    return;
  }
  auto rank = ranks_.extract(pid);
  // A rank that has been forked and not yet executed its program holds a copy of the pidfd, which
  // would keep it in the list.
  ::epoll_ctl(deaths_.get(), EPOLL_CTL_DEL, rank.mapped().pidfd.get(), nullptr);
  if (rank.mapped().refused) return;
  last_time_ns_ =
      std::max<std::int64_t>(clock_.now().time_since_epoch().count(), last_time_ns_ + 1);
  messages::FromHelper message;
  messages::ProcessExited& exited = *message.mutable_exited();
  exited.set_rank(rank.mapped().rank);
  exited.set_pid(pid);
  exited.set_wait_status(wait_status);
  exited.set_time_ns(last_time_ns_);
  exited.set_peak_memory_kib(static_cast<std::uint64_t>(usage.ru_maxrss));
  if (!spares_rest_ || !keep_rest(pid, message)) tell(message);
}

// Its orphans have come here. A group without any may have a new leader with the same number.
bool SpawnHelper::keep_rest(pid_t group, const messages::FromHelper& end) {
  if (::kill(-group, 0) != 0 || !groups_of_children().contains(group)) return false;
  rests_.emplace(group, end);
  return true;
}

void SpawnHelper::tell_ends_of_rests() {
  if (rests_.empty()) return;
  const std::set<pid_t> left = groups_of_children();
  std::erase_if(rests_, [&](const auto& rest) {
    const bool is_over = !left.contains(rest.first);
    if (is_over) tell(rest.second);
    return is_over;
  });
}

// Only a message beyond the frame's bound fails, and these are short.
void SpawnHelper::tell(const messages::FromHelper& message) {
  if (const Status status = agent_.send(message); !status.ok()) loop_.stop();
}

}  // namespace

void run_spawn_helper(UniqueFd agent) {
  continue_without_parent();
  replace_by_null(STDIN_FILENO);
  replace_by_null(STDOUT_FILENO);
  const Status status = SpawnHelper(std::move(agent)).run();
  if (!status.ok()) report("spawn helper", status);
}

}  // namespace paceline::launcher
