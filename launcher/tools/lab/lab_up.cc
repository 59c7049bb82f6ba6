#include "launcher/tools/lab/lab_up.h"

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/run_program.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/keeper.h"
#include "launcher/tools/lab/lab_cgroups.h"
#include "launcher/tools/lab/lab_ssh.h"
#include "launcher/tools/lab/outcome.h"
#include "launcher/tools/lab/relay.h"
#include "launcher/tools/lab/system_program.h"

namespace paceline::launcher {
namespace {

Status refuse(const std::string& text) {
  return Status(Code::kUnavailable, Scope::kOperation, text);
}

LabUser this_user() {
  return {.has_namespace = ::geteuid() != 0, .user = ::geteuid(), .group = ::getegid()};
}

Status check(const LabFolders& folders, const LabPlan& plan) {
  for (const LabFolders::Found& found : folders.sweep().up)
    if (found.record.plan.name == plan.name)
      return refuse("lab '" + plan.name +
                    "' exists already; remove it with `paceline lab down --name " + plan.name +
                    "`, or choose another --name");
  if (plan.delay != Duration::zero()) PACELINE_TRY(check_taps().with_context("--delay"));
  if (plan.ssh && this_user().has_namespace)
    return refuse("--ssh needs root: sshd changes its user, but a user namespace has only one");
  return Status();
}

Result<LabSite> find_programs(const LabPlan& plan) {
  LabSite site{.plan = plan};
  PACELINE_TRY_ASSIGN(site.ip, find_system_program("ip", "iproute2"));
  PACELINE_TRY_ASSIGN(site.tc, find_system_program("tc", "iproute2"));
  if (plan.ssh) {
    PACELINE_TRY_ASSIGN(site.sshd, find_system_program("sshd", "openssh-server"));
  }
  return site;
}

Status write_files(const LabFolder& folder, const LabPlan& plan) {
  PACELINE_TRY(write_lab_file(folder, "hosts", lab_hostfile(plan)));
  PACELINE_TRY(write_lab_file(folder, "etc_hosts", lab_etc_hosts(plan)));
  return plan.ssh ? write_ssh_files(folder, plan) : Status();
}

Result<pid_t> start_keeper(const LabSite& site, const LabUser& user, const LabFolder& folder,
                           std::pair<UniqueFd, UniqueFd>& ends) {
  const std::uint64_t flags =
      CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | (user.has_namespace ? CLONE_NEWUSER : 0);
  PACELINE_TRY_ASSIGN(const pid_t pid, fork_into_new(flags));
  if (pid != 0) return pid;
  UniqueFd record(folder.record.get());  // the parent's object stays in the parent
  ends.first.reset();
  be_keeper(site, user, std::move(ends.second), std::move(record));
}

// Its first children are the hosts' first processes, in the order of their making.
Status identify_processes(pid_t keeper, LabRecord& record) {
  const std::string number = std::to_string(keeper);
  std::ifstream list("/proc/" + number + "/task/" + number + "/children");
  record.inits.clear();
  const auto hosts = static_cast<std::size_t>(record.plan.hosts);
  for (pid_t child = 0; record.inits.size() < hosts && list >> child;)
    record.inits.push_back(identify(child).value_or(ProcessIdentity{.pid = child}));
  const auto identity = identify(keeper);
  if (!identity || record.inits.size() != hosts)
    return refuse("a host has ended while the lab was being made");
  record.keeper = *identity;
  return Status();
}

// The keeper is a child of this process, which must reap it.
void kill_keeper(pid_t keeper) {
  ::kill(keeper, SIGKILL);
  ::waitpid(keeper, nullptr, 0);
}

Status let_it_stay(const UniqueFd& socket, const LabFolder& folder, const LabRecord& record) {
  PACELINE_TRY(rewrite(folder, record));
  send_outcome(socket, Status());
  return receive_outcome(socket, kLabPatience);
}

Status raise(const LabSite& site, const LabFolder& folder, LabRecord& record) {
  const LabUser user = this_user();
  record.in_user_namespace = user.has_namespace;
  PACELINE_TRY_ASSIGN(auto ends, make_outcome_sockets());
  PACELINE_TRY_ASSIGN(const pid_t keeper, start_keeper(site, user, folder, ends));
  ends.second.reset();
  // Several hosts may be slow one after another.
  Status outcome = receive_outcome(ends.first, 3 * kLabPatience);
  if (outcome.ok()) outcome = identify_processes(keeper, record);
  if (outcome.ok()) outcome = let_it_stay(ends.first, folder, record);
  if (!outcome.ok()) kill_keeper(keeper);
  return outcome;
}

std::vector<std::string> job_folders(const LabFolders::Options& where) {
  std::vector<std::string> folders;
  for (const std::string& place : where.places)
    folders.push_back(place + "/paceline-" + std::to_string(where.user));
  return folders;
}

}  // namespace

Result<LabFolders::Found> make_lab(const LabFolders& folders, const LabFolders::Options& where,
                                   const LabPlan& plan) {
  PACELINE_TRY(check(folders, plan));
  PACELINE_TRY_ASSIGN(LabSite site, find_programs(plan));
  LabRecord record{.plan = plan,
                   .maker = identify(::getpid()).value_or(ProcessIdentity{.pid = ::getpid()}),
                   .cgroups = plan_lab_cgroups(plan.name, ::getpid())};
  PACELINE_TRY_ASSIGN(LabFolder folder, folders.make(record));
  site.folder = folder.path();
  site.hidden = job_folders(where);
  Status made = write_files(folder, plan);
  if (made.ok()) {
    site.cgroups = record.cgroups = make_lab_cgroups(record.cgroups, plan.hosts);
    made = raise(site, folder, record);
  }
  const std::string path = folder.path();
  folder.record.reset();  // the keeper has the lock, or nobody
  if (made.ok()) return LabFolders::Found{.path = path, .record = std::move(record)};
  const Result<bool> removed = folders.remove(plan.name);
  return removed.ok() ? made : made.with_context("the lab is not completely removed");
}

}  // namespace paceline::launcher
