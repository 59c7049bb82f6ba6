#include "launcher/system/process_identity.h"

#include <string>

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/system/process_stat.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING of include/linux/sched.h

std::optional<ProcessStat> read_stat(pid_t pid) {
  return parse_stat(read_file("/proc/" + std::to_string(pid) + "/stat"));
}

bool is_dead(const ProcessStat& stat) { return stat.state == 'Z' || stat.state == 'X'; }

}  // namespace

std::optional<ProcessIdentity> identify(pid_t pid) {
  const std::optional<ProcessStat> stat = read_stat(pid);
  if (!stat || is_dead(*stat)) return std::nullopt;
  return ProcessIdentity{.pid = pid, .start_time = stat->start_time};
}

bool is_stopped(const ProcessIdentity& process) {
  const std::optional<ProcessStat> stat = read_stat(process.pid);
  return stat && stat->start_time == process.start_time &&
         (stat->state == 'T' || stat->state == 't');
}

bool is_ending(pid_t pid) {
  const std::optional<ProcessStat> stat = read_stat(pid);
  return !stat || is_dead(*stat) || (stat->flags & kExiting) != 0;
}

Status check_process_calls() {
  const auto refused = [](const char* call) {
    return Status(Code::kUnavailable, Scope::kProcess,
                  system_error(std::string("use ") + call).text() +
                      "; paceline needs Linux 5.3 or later, and a container profile that allows "
                      "this system call");
  };
  const UniqueFd self = open_pidfd(::getpid());
  if (!self) return refused("pidfd_open");
  return send_signal(self, 0) ? Status() : refused("pidfd_send_signal");
}

UniqueFd open_process(const ProcessIdentity& process) {
  UniqueFd pidfd = open_pidfd(process.pid);
  // What was opened keeps its number, so a look afterwards says which process it is.
  if (pidfd && identify(process.pid) != process) pidfd.reset();
  return pidfd;
}

bool send_signal(const UniqueFd& pidfd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal, nullptr, 0) == 0;
}

Status kill_and_wait(const ProcessIdentity& process, Duration patience) {
  const UniqueFd pidfd = open_process(process);
  if (!pidfd) return Status();
  send_signal(pidfd, SIGKILL);
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  if (::poll(&ended, 1, static_cast<int>(milliseconds)) == 1) return Status();
  return Status(Code::kTimeout, Scope::kProcess,
                "process " + std::to_string(process.pid) +
                    " was killed, but has not ended within " + seconds_text(patience));
}

}  // namespace paceline::launcher
