#include "launcher/system/process.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/process_identity.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kLastMoment{5000};
constexpr std::chrono::milliseconds kDying{2000};
// Most of those that may stay end at once.
constexpr std::chrono::milliseconds kToStay{200};

sigset_t only_child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// A group is killed at one stroke, so a storm of forks cannot outrun it: fork fails in a process
// that has a signal pending. A descendant's group holds descendants only, but for the one that
// this process itself is in, where a child is before its setpgid().
void kill_with_group(pid_t child) {
  const pid_t group = ::getpgid(child);
  if (group > 1 && group != ::getpgrp()) ::kill(-group, SIGKILL);
  ::kill(child, SIGKILL);
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code gone;  // processes end meanwhile
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    const std::string name = at->path().filename().string();
    pid_t process = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), process).ec == std::errc())
      found.push_back(process);
  }
  return found;
}

void kill_children(pid_t spared_group) {
  for (const pid_t child : children())
    if (spared_group == 0 || ::getpgid(child) != spared_group) kill_with_group(child);
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::fork(FunctionRef<void(UniqueFd)> body) {
  PACELINE_TRY_ASSIGN(auto ends, make_socket_pair());
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork a process of the launcher");
  if (pid == 0) {
    ends.first.reset();
    body(std::move(ends.second));
    ::_exit(0);
  }
  UniqueFd pidfd = open_pidfd(pid);
  const Status opened = pidfd ? Status() : system_error("watch a process of the launcher");
  std::unique_ptr<ChildProcess> child(
      new ChildProcess(pid, std::move(pidfd), std::move(ends.first)));
  if (!opened.ok()) return opened;
  return child;
}

ChildProcess::~ChildProcess() {
  socket_.reset();
  let_end();
  if (wait(kLastMoment)) return;
  ::kill(pid_, SIGKILL);
  (void)wait(kDying);
}

void ChildProcess::let_end() {
  if (!wait_status_) ::kill(pid_, SIGCONT);
}

void ChildProcess::kill_and_leave() {
  if (wait_status_) return;
  ::kill(pid_, SIGKILL);
  if (!wait(std::chrono::milliseconds(0))) wait_status_ = SIGKILL;
}

std::optional<int> ChildProcess::wait(std::chrono::milliseconds patience) {
  if (wait_status_) return wait_status_;
  pollfd ended{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  ::poll(&ended, 1, static_cast<int>(patience.count()));
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) == pid_) wait_status_ = status;
  return wait_status_;
}

void die_with(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
}

// A process that runs when its parent ends before this has no need of it.
void continue_without_parent() { ::prctl(PR_SET_PDEATHSIG, SIGCONT); }

Status adopt_orphans() {
  const sigset_t child_signal = only_child_signal();
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_error("adopt orphaned processes");
  return Status();
}

std::vector<pid_t> children() {
  std::vector<pid_t> found;
  std::ifstream list("/proc/thread-self/children");
  for (pid_t child = 0; list >> child;) found.push_back(child);
  return found;
}

std::set<pid_t> groups_of_children() {
  std::set<pid_t> groups;
  for (const pid_t child : children()) groups.insert(::getpgid(child));
  return groups;
}

// The pidfd is of the process whose group is looked at, even if its number is used again.
void signal_members(FunctionRef<bool(pid_t)> is_meant, int signal) {
  for (const pid_t process : all_processes()) {
    const pid_t group = ::getpgid(process);
    if (group == process || !is_meant(group)) continue;
    const UniqueFd member = open_pidfd(process);
    if (member && ::getpgid(process) == group) send_signal(member, signal);
  }
}

Status end_descendants(const Clock& clock, Deadline deadline, pid_t spared_group,
                       FunctionRef<bool(pid_t)> may_stay) {
  const sigset_t child_signal = only_child_signal();
  const Deadline stay = Deadline::after(clock, kToStay);
  for (;;) {
    kill_children(spared_group);
    pid_t reaped = 0;
    while ((reaped = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (reaped < 0) return Status();  // ECHILD: there are none
    const std::vector<pid_t> rest = children();
    const bool may_all_stay = !rest.empty() && std::ranges::all_of(rest, may_stay);
    const Duration left = (may_all_stay ? stay : deadline).left(clock.now());
    if (left == Duration::zero() && may_all_stay) return Status();
    if (left == Duration::zero())
      return Status(Code::kTimeout, Scope::kProcess, "some processes did not end after SIGKILL");
    // A death announces itself, and the orphans that it left are children here by then.
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec patience{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
    ::sigtimedwait(&child_signal, nullptr, &patience);
  }
}

std::vector<char*> exec_words(const std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (const std::string& word : words) list.push_back(const_cast<char*>(word.c_str()));
  list.push_back(nullptr);
  return list;
}

void reset_signals() {
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) ::sigaction(signal, &standard, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

}  // namespace paceline::launcher
