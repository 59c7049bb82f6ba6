// What the launcher's processes do to their children and to themselves.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// `words` as exec(3) takes them, valid as long as they are.
std::vector<char*> exec_words(const std::vector<std::string>& words);

/// A forked process with a socket between parent and child. Fork before the first thread: the
/// child goes on with a copy of everything but the other threads.
class ChildProcess {
 public:
  /// The child runs `body` with its end of the socket and exits with 0 when it returns.
  static Result<std::unique_ptr<ChildProcess>> fork(FunctionRef<void(UniqueFd socket)> body);

  /// Gives the child a moment to end by itself, even if it is stopped. Then kills it, and reaps it.
  /// A child that the kernel does not end is left.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// The parent's end; can be taken once.
  UniqueFd take_socket() { return std::move(socket_); }
  pid_t pid() const { return pid_; }
  /// Becomes readable when the child has ended.
  int pidfd() const { return pidfd_.get(); }
  /// The child must end by itself from now on. A stopped child is continued, so that it can.
  void let_end();
  /// Kills it and does not wait, for a child that the kernel may not end, as in a driver that
  /// hangs.
  void kill_and_leave();
  /// Its wait status once it has ended; nullopt if it has not within `patience`.
  std::optional<int> wait(std::chrono::milliseconds patience);

 private:
  ChildProcess(pid_t pid, UniqueFd pidfd, UniqueFd socket)
      : pid_(pid), pidfd_(std::move(pidfd)), socket_(std::move(socket)) {}

  pid_t pid_;
  UniqueFd pidfd_;
  UniqueFd socket_;
  std::optional<int> wait_status_;
};

/// From now on the kernel kills this process when the thread that forked it ends; at once if
/// `parent` has ended already.
void die_with(pid_t parent);

/// From now on the kernel lets this process run on, should it be stopped, when the thread that
/// forked it ends: whoever is to clear up after its parent cannot do it while it is stopped.
void continue_without_parent();

/// From now on orphans among the descendants of this process become its children, so that
/// end_descendants() finds them. SIGCHLD is blocked from then on.
Status adopt_orphans();

/// The children of this thread, as they are just now.
std::vector<pid_t> children();

/// The process groups of the children of this thread.
std::set<pid_t> groups_of_children();

/// Sends the signal to all processes whose group `is_meant`, except for the leaders of groups.
void signal_members(FunctionRef<bool(pid_t group)> is_meant, int signal);

/// Kills and reaps every child with its process group, and the orphans that this makes, until none
/// is left. Needs adopt_orphans(). Children in `spared_group` are not killed but waited for.
/// Code::kTimeout where some do not end in time; those that `may_stay` need not.
Status end_descendants(
    const Clock& clock, Deadline deadline, pid_t spared_group = 0,
    FunctionRef<bool(pid_t child)> may_stay = [](pid_t) { return false; });

/// Default dispositions, except for SIGKILL and SIGSTOP, which have no other, and an empty mask.
void reset_signals();

}  // namespace paceline::launcher
