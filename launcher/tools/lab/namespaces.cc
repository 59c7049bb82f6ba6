#include "launcher/tools/lab/namespaces.h"

#include <cerrno>
#include <filesystem>
#include <string>

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/outcome.h"

namespace paceline::launcher {
namespace {

Status write_file(const std::string& path, const std::string& text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(text.size());
  if (file && ::write(file.get(), text.data(), text.size()) == size) return Status();
  return system_error("write " + path);
}

std::string one_id(unsigned outside) { return "0 " + std::to_string(outside) + " 1"; }

bool shares_user_namespace(pid_t pid) {
  struct stat theirs {};
  struct stat own {};
  const std::string path = "/proc/" + std::to_string(pid) + "/ns/user";
  return ::stat(path.c_str(), &theirs) == 0 && ::stat("/proc/self/ns/user", &own) == 0 &&
         theirs.st_ino == own.st_ino && theirs.st_dev == own.st_dev;
}

}  // namespace

Result<pid_t> fork_into_new(std::uint64_t flags) {
  clone_args arguments{};
  arguments.flags = flags;
  arguments.exit_signal = SIGCHLD;
  long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  // Container profiles refuse clone3 with ENOSYS, because they cannot inspect its flags. Then the
  // older system call is used.
  if (pid < 0 && errno == ENOSYS)
    pid = ::syscall(SYS_clone, flags | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid >= 0) return static_cast<pid_t>(pid);
  const Status status = system_error("make namespaces");
  return errno == EPERM || errno == ENOSPC
             ? Status(Code::kDenied, Scope::kProcess,
                      status.text() +
                          "; a lab needs root, or a kernel that allows user namespaces (sysctl "
                          "user.max_user_namespaces)")
             : status;
}

Status become_root_of_namespace(uid_t user, gid_t group) {
  PACELINE_TRY(write_file("/proc/self/setgroups", "deny"));
  PACELINE_TRY(write_file("/proc/self/uid_map", one_id(user)));
  return write_file("/proc/self/gid_map", one_id(group));
}

Status join_namespaces(const ProcessIdentity& process, int flags) {
  const UniqueFd pidfd = open_process(process);
  if (!pidfd)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "its first process, " + std::to_string(process.pid) + ", has ended");
  if (shares_user_namespace(process.pid)) flags &= ~CLONE_NEWUSER;
  std::error_code unnamed;
  const std::string folder = std::filesystem::current_path(unnamed).string();
  // The kernel makes the root of the mounts this process's root. That of a lab which was made in a
  // chroot is elsewhere.
  const std::string its_root = "/proc/" + std::to_string(process.pid) + "/root";
  const UniqueFd root(::open(its_root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (::setns(pidfd.get(), flags) != 0) return system_error("join its namespaces");
  if (root && (flags & CLONE_NEWNS) != 0 && (::fchdir(root.get()) != 0 || ::chroot(".") != 0))
    return system_error("go to its root");
  if (unnamed || ::chdir(folder.c_str()) != 0)
    if (::chdir("/") != 0) return system_error("go to /");
  return Status();
}

int host_namespaces(const LabRecord& record) {
  return switch_namespaces(record) | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID;
}

int switch_namespaces(const LabRecord& record) {
  return CLONE_NEWNET | CLONE_NEWNS | (record.in_user_namespace ? CLONE_NEWUSER : 0);
}

Status run_inside(const ProcessIdentity& process, int flags, Duration patience,
                  FunctionRef<Status()> body) {
  PACELINE_TRY_ASSIGN(auto ends, make_outcome_sockets());
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork a process of the lab");
  if (pid == 0) {
    die_with(parent);
    Status outcome = join_namespaces(process, flags);
    if (outcome.ok()) outcome = body();
    send_outcome(ends.second, outcome);
    ::_exit(0);
  }
  ends.second.reset();
  Status outcome = receive_outcome(ends.first, patience);
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  return outcome;
}

}  // namespace paceline::launcher
