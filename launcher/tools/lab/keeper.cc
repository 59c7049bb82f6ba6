#include "launcher/tools/lab/keeper.h"

#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/run_program.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_host.h"
#include "launcher/tools/lab/outcome.h"
#include "launcher/tools/lab/relay.h"
#include "launcher/tools/lab/surroundings.h"
#include "launcher/tools/lab/wiring.h"

namespace paceline::launcher {
namespace {

struct Host {
  pid_t init = 0;
  UniqueFd socket;
};

Result<Host> start_host(const LabSite& site, int host) {
  PACELINE_TRY_ASSIGN(auto ends, make_outcome_sockets());
  PACELINE_TRY_ASSIGN(const pid_t pid, fork_into_new(CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS |
                                                     CLONE_NEWUTS | CLONE_NEWIPC));
  if (pid == 0) be_host(site, host, std::move(ends.second));
  return Host{.init = pid, .socket = std::move(ends.first)};
}

Status make_switch(const LabSite& site, const LabUser& user) {
  if (user.has_namespace) PACELINE_TRY(become_root_of_namespace(user.user, user.group));
  PACELINE_TRY(mount_for_switch(site));
  PACELINE_TRY(switch_ipv6_off());
  control_congestion_by_losses();
  return run_program({site.ip, "-batch", "-"}, wire_switch(site.plan), kLabPatience);
}

Status link_hosts(const LabSite& site, const std::vector<Host>& hosts) {
  std::string links;
  std::string shapes;
  for (int host = 0; host < site.plan.hosts; ++host) {
    const pid_t init = hosts[static_cast<std::size_t>(host)].init;
    links += wire_host_to_switch(site.plan, host, init);
    for (int rail = 0; rail < site.plan.rails(); ++rail) {
      const std::int64_t rate = site.plan.rates_bits[static_cast<std::size_t>(rail)];
      links += size_units(lab_port(host, rail), rate);
      shapes += shape(lab_port(host, rail), rate);
    }
  }
  PACELINE_TRY(run_program({site.ip, "-batch", "-"}, links, kLabPatience));
  for (int host = 0; host < site.plan.hosts; ++host)
    for (int rail = 0; rail < site.plan.rails(); ++rail)
      PACELINE_TRY(carry_units(lab_port(host, rail), site.plan.carries_units()));
  return run_program({site.tc, "-batch", "-"}, shapes, kLabPatience);
}

// The process has the only copies of the links when this returns, and ends with this one.
Status start_relay(std::vector<DelayedLink> links, Duration delay) {
  const pid_t pid = ::fork();
  if (pid < 0) return system_error("fork the relay");
  if (pid == 0) relay(std::move(links), delay, SystemClock());
  return Status();
}

Status make_lab(const LabSite& site, const LabUser& user) {
  PACELINE_TRY(make_switch(site, user).with_context("switch"));
  std::vector<Host> hosts;
  for (int host = 0; host < site.plan.hosts; ++host) {
    PACELINE_TRY_ASSIGN(Host started, start_host(site, host));
    hosts.push_back(std::move(started));
  }
  std::vector<DelayedLink> links;
  if (site.plan.delay != Duration::zero()) {
    PACELINE_TRY_ASSIGN(links, make_delayed_links(site.plan));
  }
  PACELINE_TRY(link_hosts(site, hosts).with_context("switch"));
  if (!links.empty()) PACELINE_TRY(start_relay(std::move(links), site.plan.delay));
  for (const Host& host : hosts) send_outcome(host.socket, Status());
  for (const Host& host : hosts) PACELINE_TRY(receive_outcome(host.socket, kLabPatience));
  return Status();
}

}  // namespace

// The parent-death signal comes from outside of the namespace, so it reaches even its first
// process; a maker that has died before this is noticed at its socket.
void be_keeper(const LabSite& site, const LabUser& user, UniqueFd maker, UniqueFd record) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, ("lab-" + site.plan.name).c_str());
  Status outcome = leave_surroundings({maker.get(), record.get()});
  if (outcome.ok()) outcome = make_lab(site, user);
  send_outcome(maker, outcome);
  if (!outcome.ok() || !receive_outcome(maker, kLabPatience).ok()) ::_exit(1);
  ::prctl(PR_SET_PDEATHSIG, 0);
  send_outcome(maker, Status());
  maker.reset();
  reap_orphans();
}

}  // namespace paceline::launcher
