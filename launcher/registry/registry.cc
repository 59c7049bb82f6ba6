#include "launcher/registry/registry.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/registry/job_folder.h"
#include "launcher/registry/leftovers.h"
#include "launcher/registry/user_folder.h"
#include "launcher/system/cgroup.h"
#include "launcher/system/host.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> job_folders(const UniqueFd& folders) {
  std::vector<std::string> names;
  std::error_code ignored;
  const fs::path path = "/proc/self/fd/" + std::to_string(folders.get());
  for (fs::directory_iterator entry(path, ignored), end; entry != end; entry.increment(ignored)) {
    std::string name = entry->path().filename().string();
    if (is_job_folder(name)) names.push_back(std::move(name));
  }
  return names;
}

Result<UniqueFd> make_nameless_lock() {
  UniqueFd file(::memfd_create("paceline-job", MFD_CLOEXEC));
  if (!file) return system_error("make a file in memory");
  if (try_lock(file) != Lock::kTaken) return system_error("lock a file in memory");
  return file;
}

}  // namespace

JobRegistry::Options JobRegistry::here() {
  const uid_t user = ::geteuid();
  return {.places = runtime_places(::getenv, user),
          .cgroups = own_cgroup_folder(),
          .user = user,
          .host = host_name()};
}

Result<JobRegistry::Entered> JobRegistry::enter(JobRecord record) const {
  record.cgroup = make_cgroup(options_.cgroups, cgroup_name(record.id));
  std::string reasons;
  for (const std::string& place : options_.places) {
    Result<JobHold> hold = enter_at(place, record);
    if (hold.ok())
      return Entered{.hold = *std::move(hold),
                     .warning = "",
                     .cgroup = record.cgroup,
                     .folder = folder_of(record.id)};
    struct stat ignored {};
    if (::stat(place.c_str(), &ignored) != 0) continue;  // not every host has all of them
    reasons += (reasons.empty() ? "" : "; ") + place + ": " + hold.status().text();
  }
  PACELINE_TRY_ASSIGN(UniqueFd lock, make_nameless_lock());
  return Entered{
      .hold = JobHold(std::move(lock), UserFolder(), leftovers_of(record.id, record.cgroup)),
      .warning =
          "this job cannot be recorded, so `paceline list` and `paceline cancel` will not find it "
          "(" +
          reasons + "); set TMPDIR to your own folder with free space",
      .cgroup = record.cgroup,
      .folder = ""};
}

std::string JobRegistry::folder_of(const std::string& job_id) const {
  for (const std::string& place : options_.places) {
    const auto folders = open_user_folder(place, options_.user, IfMissing::kFail);
    if (folders.ok() && ::faccessat(folders->fd.get(), job_id.c_str(), F_OK, 0) == 0)
      return folders->path + "/" + job_id;
  }
  return "";
}

Result<JobHold> JobRegistry::enter_at(const std::string& place, const JobRecord& record) const {
  const auto open = [&] { return open_user_folder(place, options_.user, IfMissing::kMake); };
  PACELINE_TRY_ASSIGN(JobFolder made, make_job_folder(open, record.id, to_text(record)));
  return JobHold(std::move(made.record), std::move(made.user),
                 leftovers_of(record.id, record.cgroup));
}

Leftovers JobRegistry::leftovers_of(const std::string& job_id, const std::string& cgroup) const {
  return {.job_id = job_id, .shared_memory = options_.shared_memory, .cgroup = cgroup};
}

JobRegistry::Found JobRegistry::sweep() const {
  Found found;
  for (const std::string& place : options_.places) {
    const auto folders = open_user_folder(place, options_.user, IfMissing::kFail);
    if (!folders.ok()) continue;
    for (const std::string& name : job_folders(folders->fd)) visit(*folders, name, found);
    folders->remove_if_empty();
  }
  std::sort(found.running.begin(), found.running.end(), [](const JobRecord& a, const JobRecord& b) {
    return std::pair(a.begin, a.id) < std::pair(b.begin, b.id);
  });
  // Two of the places may be the same folder.
  found.running.erase(std::unique(found.running.begin(), found.running.end()), found.running.end());
  return found;
}

bool JobRegistry::is_running(const std::string& job_id) const {
  Found found;
  for (const std::string& place : options_.places) {
    const auto folders = open_user_folder(place, options_.user, IfMissing::kFail);
    if (!folders.ok()) continue;
    if (visit(*folders, job_id, found)) return true;
    folders->remove_if_empty();
  }
  return false;
}

bool JobRegistry::visit(const UserFolder& folders, const std::string& name, Found& found) const {
  const UniqueFd file = open_record(folders.fd, name);
  if (!file) return false;
  std::optional<JobRecord> record = parse_record(read_record(file));
  // A folder that several hosts share: each sweeps for itself, since only it sees the processes.
  if (record && record->host != options_.host) return false;
  if (try_lock(file) == Lock::kHeldByOthers) {
    if (record && record->id == name) found.running.push_back(*std::move(record));
    return true;
  }
  if (!is_linked(file)) return false;
  const std::string job_id = name.substr(0, name.find('.'));
  const Leftovers left = leftovers_of(job_id, record ? record->cgroup : "");
  kill_strays(left, options_.user);
  remove_leftovers(left);
  remove_job_folder(folders.fd, name);
  found.removed.push_back(job_id);
  return false;
}

}  // namespace paceline::launcher
