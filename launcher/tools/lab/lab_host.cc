#include "launcher/tools/lab/lab_host.h"

#include <array>
#include <cerrno>
#include <string>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "comm/base/try.h"
#include "launcher/system/process.h"
#include "launcher/system/run_program.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_cgroups.h"
#include "launcher/tools/lab/outcome.h"
#include "launcher/tools/lab/surroundings.h"
#include "launcher/tools/lab/wiring.h"

namespace paceline::launcher {
namespace {

constexpr const char* kSshdFolder = "/run/sshd";
constexpr const char* kSshdPid = "pid";

Status settle(const LabSite& site, int host) {
  PACELINE_TRY(join_cgroups(open_host_cgroups(site.cgroups, host)));
  const std::string name = lab_host(host);
  ::prctl(PR_SET_NAME, ("lab-" + name).c_str());
  if (::sethostname(name.c_str(), name.size()) != 0) return system_error("name the host");
  PACELINE_TRY(mount_for_host(site));
  control_congestion_by_losses();
  return switch_ipv6_off();
}

Status wire(const LabSite& site, int host) {
  std::string links = wire_host(site.plan, host);
  std::string shapes;
  for (int rail = 0; rail < site.plan.rails(); ++rail) {
    const std::string device = lab_interface(rail);
    const std::int64_t rate = site.plan.rates_bits[static_cast<std::size_t>(rail)];
    PACELINE_TRY(carry_units(device, site.plan.carries_units()));
    links += size_units(device, rate);
    shapes += shape(device, rate);
  }
  PACELINE_TRY(run_program({site.ip, "-batch", "-"}, links, kLabPatience));
  return run_program({site.tc, "-batch", "-"}, shapes, kLabPatience);
}

// Its file appears when it listens.
Status wait_for_sshd(const UniqueFd& changes, pid_t sshd) {
  const UniqueFd ended = open_pidfd(sshd);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(kLabPatience);
  for (;;) {
    pollfd waiting[] = {{.fd = changes.get(), .events = POLLIN, .revents = 0},
                        {.fd = ended.get(), .events = POLLIN, .revents = 0}};
    if (::poll(waiting, 2, static_cast<int>(milliseconds.count())) < 1)
      return Status(Code::kTimeout, Scope::kProcess, "sshd does not listen after 20 s");
    alignas(inotify_event) std::array<char, 4096> events{};
    if (waiting[0].revents != 0) {
      if (::read(changes.get(), events.data(), events.size()) < 0)
        return system_error("watch sshd");
      if (::access((std::string(kSshdFolder) + "/" + kSshdPid).c_str(), F_OK) == 0) return Status();
    }
    if (waiting[1].revents != 0)
      return Status(Code::kUnavailable, Scope::kProcess,
                    "sshd has ended: " + read_file(std::string(kSshdFolder) + "/log"));
  }
}

Status start_sshd(const LabSite& site, int host) {
  const UniqueFd changes(::inotify_init1(IN_CLOEXEC));
  if (!changes || ::inotify_add_watch(changes.get(), kSshdFolder, IN_CLOSE_WRITE) < 0)
    return system_error("watch " + std::string(kSshdFolder));
  const std::string folder = kSshdFolder;
  const std::string address = "ListenAddress=" + lab_address(host, 0);
  const std::string pid_file = "PidFile=" + folder + "/" + kSshdPid;
  const std::string config = std::string(kLabFolderInHosts) + "/sshd_config";
  const std::string log = folder + "/log";
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork sshd");
  if (pid == 0) {
    reset_signals();
    ::execl(site.sshd.c_str(), site.sshd.c_str(), "-D", "-E", log.c_str(), "-f", config.c_str(),
            "-o", address.c_str(), "-o", pid_file.c_str(), nullptr);
    ::_exit(127);
  }
  return wait_for_sshd(changes, pid);
}

Status become_host(const LabSite& site, int host, const UniqueFd& keeper) {
  PACELINE_TRY(settle(site, host));
  PACELINE_TRY(receive_outcome(keeper, kLabPatience));
  PACELINE_TRY(wire(site, host));
  return site.sshd.empty() ? Status() : start_sshd(site, host);
}

}  // namespace

void be_host(const LabSite& site, int host, UniqueFd keeper) {
  Status outcome = leave_surroundings({keeper.get()});
  if (outcome.ok()) outcome = become_host(site, host, keeper);
  send_outcome(keeper, outcome.with_context("host " + lab_host(host)));
  keeper.reset();
  reap_orphans();
}

void reap_orphans() {
  sigset_t child_signal;
  ::sigemptyset(&child_signal);
  ::sigaddset(&child_signal, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child_signal, nullptr);
  for (;;) {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    ::sigwaitinfo(&child_signal, nullptr);
  }
}

}  // namespace paceline::launcher
