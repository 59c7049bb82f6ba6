#include "launcher/registry/leftovers.h"

#include <cstdlib>
#include <filesystem>

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/read_file.h"
#include "launcher/system/cgroup.h"
#include "launcher/system/process_identity.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

// One that was killed may have forked while it was being looked for, so there is another look; a
// storm of forks is not followed for ever.
constexpr int kPasses = 32;

// How long killed processes may take to go.
constexpr Duration kDying = std::chrono::seconds(1);

bool belongs_to(const fs::path& process, uid_t user) {
  struct stat found {};
  return ::stat(process.c_str(), &found) == 0 && found.st_uid == user;
}

bool has_variable(const fs::path& process, const std::string& variable) {
  const std::string environment = '\0' + read_file(process / "environ") + '\0';
  return environment.find('\0' + variable + '\0') != std::string::npos;
}

// Whether there were any.
bool kill_those_with(const std::string& variable, uid_t user) {
  bool found = false;
  std::error_code ignored;
  for (fs::directory_iterator entry("/proc", ignored), end; entry != end;
       entry.increment(ignored)) {
    const pid_t pid = static_cast<pid_t>(std::atoi(entry->path().filename().c_str()));
    if (pid <= 1 || pid == ::getpid() || !belongs_to(entry->path(), user)) continue;
    const auto process = identify(pid);
    if (!process || !has_variable(entry->path(), variable)) continue;
    if (const UniqueFd pidfd = open_process(*process)) found = send_signal(pidfd, SIGKILL) || found;
  }
  return found;
}

// A record may be damaged.
bool is_own_cgroup(const Leftovers& left) {
  return fs::path(left.cgroup).filename() == cgroup_name(left.job_id);
}

}  // namespace

std::string shared_memory_prefix(std::string_view job_id) {
  return "paceline-" + std::string(job_id) + "-";
}

std::string cgroup_name(std::string_view job_id) { return "paceline-" + std::string(job_id); }

void remove_leftovers(const Leftovers& left) {
  const std::string prefix = shared_memory_prefix(left.job_id);
  std::error_code ignored;
  for (fs::directory_iterator entry(left.shared_memory, ignored), end; entry != end;
       entry.increment(ignored)) {
    if (!entry->path().filename().string().starts_with(prefix)) continue;
    std::error_code failed;
    fs::remove_all(entry->path(), failed);
  }
  if (is_own_cgroup(left)) remove_cgroup(left.cgroup, SystemClock(), kDying);
}

void kill_strays(const Leftovers& left, uid_t user) {
  if (is_own_cgroup(left)) kill_cgroup(left.cgroup);
  const std::string variable = "PACELINE_STORE=unix:@paceline-" + left.job_id;
  for (int pass = 0; pass < kPasses && kill_those_with(variable, user); ++pass) {
  }
}

}  // namespace paceline::launcher
