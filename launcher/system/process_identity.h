// Which process a number means: numbers are used again, a number with a start time is not.
#pragma once

#include <cstdint>
#include <optional>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

struct ProcessIdentity {
  pid_t pid = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since the host was started

  bool operator==(const ProcessIdentity&) const = default;
};

/// The process that has this number now; nothing where there is none, or only a zombie.
std::optional<ProcessIdentity> identify(pid_t pid);

/// Whether exactly this process is there, and stopped by a signal or a debugger.
bool is_stopped(const ProcessIdentity& process);

/// Whether it is gone or on its way: whoever sees a socket close because its owner has died finds
/// this true, while getppid() may still name the owner.
bool is_ending(pid_t pid);

/// Tests whether a process can be watched and signalled without the risk of a reused process id. An
/// error names the system call that the kernel lacks or a container profile refuses.
Status check_process_calls();

/// A pidfd of exactly this process, for send_signal() and poll; closed where it is gone.
UniqueFd open_process(const ProcessIdentity& process);

/// False where the process is gone or does not listen to this user.
bool send_signal(const UniqueFd& pidfd, int signal);

/// SIGKILL for exactly this process; an error where it has not gone within `patience`.
Status kill_and_wait(const ProcessIdentity& process, Duration patience);

}  // namespace paceline::launcher
