#include "launcher/tools/lab/lab_exec.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/exit_status.h"
#include "launcher/system/process.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_cgroups.h"
#include "launcher/tools/lab/namespaces.h"
#include "launcher/tools/lab/outcome.h"

namespace paceline::launcher {
namespace {

constexpr Duration kSweep = std::chrono::seconds(5);

// SIGSTOP and SIGKILL cannot be passed on; a fault of this process is its own.
sigset_t passed_on() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal :
       {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGALRM, SIGWINCH})
    ::sigaddset(&set, signal);
  return set;
}

struct Command {
  const std::vector<std::string>& words;
  std::vector<UniqueFd> cgroups;
  std::string where;
  bool on_host = true;
  sigset_t mask{};  // as this process was started
};

[[noreturn]] void become(const Command& command, pid_t guard) {
  die_with(guard);
  const Status joined = join_cgroups(command.cgroups);
  if (!joined.ok()) {
    report("lab exec", joined);
    ::_exit(kExitLauncher);
  }
  if (command.on_host) {
    const std::string folder = "/run/user/" + std::to_string(::geteuid());
    ::setenv("XDG_RUNTIME_DIR", folder.c_str(), 1);
  }
  ::sigprocmask(SIG_SETMASK, &command.mask, nullptr);
  const std::vector<char*> words = exec_words(command.words);
  ::execvp(words[0], words.data());
  const int why = errno;
  std::fprintf(stderr, "paceline: cannot run '%s' on %s: %s\n", words[0], command.where.c_str(),
               std::strerror(why));
  ::_exit(why == ENOENT ? kExitNotFound : kExitCannotExecute);
}

// The signals that `fd` announces; an unblocked one would end this process or be lost.
Result<UniqueFd> block_and_watch(const sigset_t& signals) {
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) return system_error("watch signals");
  return fd;
}

sigset_t child_signal() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  return set;
}

// Its wait status, once the command has ended.
std::optional<int> reap(pid_t command) {
  int status = 0;
  for (pid_t reaped = 0; (reaped = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (reaped == command) return status;
  return std::nullopt;
}

// Until the command ends, or exec: then whatever is below this process is killed.
void watch_over(pid_t command, const UniqueFd& exec, const UniqueFd& deaths) {
  for (;;) {
    pollfd waiting[] = {{.fd = exec.get(), .events = POLLIN, .revents = 0},
                        {.fd = deaths.get(), .events = POLLIN, .revents = 0}};
    ::poll(waiting, 2, -1);
    int signal = 0;
    if (waiting[0].revents != 0) {
      if (::recv(exec.get(), &signal, sizeof signal, 0) != sizeof signal) break;
      ::kill(command, signal);
    }
    signalfd_siginfo ignored{};
    while (::read(deaths.get(), &ignored, sizeof ignored) > 0) {
    }
    if (const std::optional<int> status = reap(command)) {
      ::send(exec.get(), &*status, sizeof *status, MSG_NOSIGNAL);
      return;
    }
  }
  const SystemClock clock;
  const Status ended = end_descendants(clock, Deadline::after(clock, kSweep));
  if (!ended.ok()) report("lab exec", ended);
}

// Nothing but its socket's end, or the death of its host, may end it: a terminal's signals reach
// it, too.
[[noreturn]] void guard(UniqueFd exec, const Command& command) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  const Status adopts = adopt_orphans();
  const Result<UniqueFd> deaths = block_and_watch(child_signal());
  const pid_t self = ::getpid();
  const pid_t pid = adopts.ok() && deaths.ok() ? ::fork() : -1;
  if (pid == 0) become(command, self);
  if (pid < 0) report("lab exec", system_error("start the command"));
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) replace_by_null(standard);
  if (pid > 0) watch_over(pid, exec, *deaths);
  ::_exit(0);
}

// A terminal sends its signals to the whole group: the command has them already.
void pass_on(const UniqueFd& signals, const UniqueFd& guard_socket) {
  signalfd_siginfo info{};
  while (::read(signals.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_code == SI_KERNEL) continue;
    const int signal = static_cast<int>(info.ssi_signo);
    ::send(guard_socket.get(), &signal, sizeof signal, MSG_NOSIGNAL);
  }
}

// The command's wait status; nothing where the guard was killed, as it is with its host.
std::optional<int> wait_for_end(const UniqueFd& signals, const UniqueFd& guard_socket) {
  for (;;) {
    pollfd waiting[] = {{.fd = guard_socket.get(), .events = POLLIN, .revents = 0},
                        {.fd = signals.get(), .events = POLLIN, .revents = 0}};
    ::poll(waiting, 2, -1);
    if (waiting[1].revents != 0) pass_on(signals, guard_socket);
    if (waiting[0].revents == 0) continue;
    int status = 0;
    const bool ended = ::recv(guard_socket.get(), &status, sizeof status, 0) == sizeof status;
    return ended ? std::optional(status) : std::nullopt;
  }
}

}  // namespace

Result<int> lab_exec(const LabRecord& record, std::optional<int> host,
                     const std::vector<std::string>& command) {
  Command started{.words = command,
                  .cgroups = {},
                  .where = host ? lab_host(*host) : kSwitch,
                  .on_host = host.has_value()};
  if (host) started.cgroups = open_host_cgroups(record.cgroups, *host);
  ::signal(SIGCHLD, SIG_DFL);  // an inherited SIG_IGN would hide how the guard ended
  ::sigprocmask(SIG_SETMASK, nullptr, &started.mask);
  PACELINE_TRY_ASSIGN(const UniqueFd signals, block_and_watch(passed_on()));
  PACELINE_TRY_ASSIGN(auto ends, make_outcome_sockets());
  const ProcessIdentity first =
      host ? record.inits[static_cast<std::size_t>(*host)] : record.keeper;
  PACELINE_TRY(join_namespaces(first, host ? host_namespaces(record) : switch_namespaces(record))
                   .with_context(started.where));
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork into " + started.where);
  if (pid == 0) {
    ends.first.reset();
    guard(std::move(ends.second), started);
  }
  ends.second.reset();
  started.cgroups.clear();
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) replace_by_null(standard);
  const std::optional<int> status = wait_for_end(signals, ends.first);
  ::waitpid(pid, nullptr, 0);
  if (status) return exit_code_of(*status);
  return Status(Code::kPeerLost, Scope::kOperation,
                started.where + " has ended, and the command with it");
}

}  // namespace paceline::launcher
