#include "launcher/tools/lab/lab_cgroups.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "comm/base/try.h"
#include "launcher/system/cgroup.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/system.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

constexpr Duration kFreezing = std::chrono::seconds(5);
constexpr Duration kDying = std::chrono::seconds(5);
constexpr Duration kLook = std::chrono::milliseconds(5);
constexpr int kPeriodUs = 20'000;  // short, so that a host with little CPU does not stand for long
constexpr const char* kUnlimited = "-1";

std::string host_folder(const std::string& folder, int host) {
  return folder + "/" + lab_host(host);
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Status write_value(const std::string& path, const std::string& value) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  const auto size = static_cast<ssize_t>(value.size());
  if (file && ::write(file.get(), value.data(), value.size()) == size) return Status();
  return system_error("write " + path);
}

// Of version 2, this user's own group has processes, so it may not give its controllers on; the
// root of the hierarchy may.
std::string version_2_parent(const std::string& mountinfo) {
  if (::geteuid() != 0) return own_cgroup_folder();
  const auto mount = cgroup_mount(mountinfo, "");
  return mount ? mount->point : "";
}

std::string cpu_parent(const std::string& mountinfo) {
  const auto mount = cgroup_mount(mountinfo, "cpu");
  const auto path = cgroup_path(read_file("/proc/self/cgroup"), "cpu");
  return mount && path ? mount->folder_of(*path).value_or("") : "";
}

// The group of one host that has a file of this name.
std::optional<std::string> find_file(const std::vector<std::string>& folders, int host,
                                     const std::string& name) {
  for (const std::string& folder : folders) {
    const std::string path = host_folder(folder, host) + "/" + name;
    if (exists(path)) return path;
  }
  return std::nullopt;
}

// What jobs on the hosts have made in them goes first.
bool remove_tree(const fs::path& folder) {
  std::error_code ignored;
  std::vector<fs::path> inner;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored))
    if (entry->is_directory(ignored)) inner.push_back(entry->path());
  for (const fs::path& path : inner) remove_tree(path);
  return ::rmdir(folder.c_str()) == 0 || errno == ENOENT;
}

// Version 2 says so of a group with all that is in it; in version 1 there is nobody to ask.
void wait_until_empty(const std::string& folder, const Deadline& deadline, const Clock& clock) {
  const UniqueFd events(::open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  while (events && read_file(folder + "/cgroup.events").find("populated 1") != std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now()));
    if (left.count() == 0) return;
    pollfd changed{.fd = events.get(), .events = POLLPRI, .revents = 0};
    ::poll(&changed, 1, static_cast<int>(left.count()));
  }
}

}  // namespace

std::vector<std::string> plan_lab_cgroups(const std::string& name, pid_t maker) {
  const std::string mountinfo = read_file("/proc/self/mountinfo");
  const std::string folder = "/paceline-lab-" + name + "-" + std::to_string(maker);
  std::vector<std::string> planned;
  for (const std::string& parent : {version_2_parent(mountinfo), cpu_parent(mountinfo)})
    if (!parent.empty()) planned.push_back((parent == "/" ? "" : parent) + folder);
  return planned;
}

std::vector<std::string> make_lab_cgroups(const std::vector<std::string>& folders, int hosts) {
  std::vector<std::string> made;
  for (const std::string& folder : folders) {
    if (::mkdir(folder.c_str(), 0755) != 0) continue;
    // Not every kernel has the controller there, and not every user may give it on.
    const std::string parent = fs::path(folder).parent_path();
    for (const std::string& giver : {parent, folder})
      if (exists(giver + "/cgroup.subtree_control"))
        static_cast<void>(write_value(giver + "/cgroup.subtree_control", "+cpu").ok());
    bool all = true;
    for (int host = 0; host < hosts; ++host)
      all = ::mkdir(host_folder(folder, host).c_str(), 0755) == 0 && all;
    all ? made.push_back(folder) : static_cast<void>(remove_tree(folder));
  }
  return made;
}

std::vector<UniqueFd> open_host_cgroups(const std::vector<std::string>& folders, int host) {
  std::vector<UniqueFd> groups;
  for (const std::string& folder : folders) {
    const std::string path = host_folder(folder, host) + "/cgroup.procs";
    groups.emplace_back(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  }
  return groups;
}

Status join_cgroups(const std::vector<UniqueFd>& groups) {
  for (const UniqueFd& group : groups)
    if (::write(group.get(), "0", 1) != 1) return system_error("join the host's control group");
  return Status();
}

bool can_freeze(const std::vector<std::string>& folders) {
  return find_file(folders, 0, "cgroup.freeze").has_value();
}

bool is_frozen(const std::vector<std::string>& folders, int host) {
  const auto path = find_file(folders, host, "cgroup.freeze");
  return path && read_file(*path).starts_with("1");
}

Status freeze(const std::vector<std::string>& folders, int host, bool frozen, const Clock& clock) {
  const auto path = find_file(folders, host, "cgroup.freeze");
  const auto events_path = find_file(folders, host, "cgroup.events");
  if (!path || !events_path) return system_error("find the host's control group");
  const Deadline deadline = Deadline::after(clock, kFreezing);
  const UniqueFd events(::open(events_path->c_str(), O_RDONLY | O_CLOEXEC));
  PACELINE_TRY(write_value(*path, frozen ? "1" : "0"));
  const std::string wanted = frozen ? "frozen 1" : "frozen 0";
  while (read_file(*events_path).find(wanted) == std::string::npos) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now()));
    if (left.count() == 0)
      return Status(Code::kTimeout, Scope::kOperation,
                    "its processes have not " + std::string(frozen ? "stopped" : "continued") +
                        " within 5 s");
    pollfd changed{.fd = events.get(), .events = POLLPRI, .revents = 0};
    ::poll(&changed, 1, static_cast<int>(left.count()));
  }
  return Status();
}

Status limit_cpus(const std::vector<std::string>& folders, int host,
                  std::optional<int> thousandths) {
  const int quota_us = thousandths.value_or(0) * (kPeriodUs / 1000);
  if (const auto path = find_file(folders, host, "cpu.max")) {
    const std::string quota = thousandths ? std::to_string(quota_us) : "max";
    return write_value(*path, quota + " " + std::to_string(kPeriodUs));
  }
  if (const auto path = find_file(folders, host, "cpu.cfs_quota_us")) {
    PACELINE_TRY(
        write_value(*find_file(folders, host, "cpu.cfs_period_us"), std::to_string(kPeriodUs)));
    return write_value(*path, thousandths ? std::to_string(quota_us) : kUnlimited);
  }
  if (!thousandths) return Status();
  return Status(Code::kUnavailable, Scope::kOperation,
                "no control group of this user has the controller cpu, so the CPUs of a host "
                "cannot be limited here");
}

bool remove_lab_cgroups(const std::vector<std::string>& folders, const Clock& clock) {
  const Deadline deadline = Deadline::after(clock, kDying);
  std::vector<std::string> left;
  for (const std::string& folder : folders)  // a record may be damaged
    if (fs::path(folder).filename().string().starts_with("paceline-lab-")) left.push_back(folder);
  for (const std::string& folder : left) wait_until_empty(folder, deadline, clock);
  // Of version 1 a group is in use for a moment after the last of its processes has gone.
  EventLoop loop(clock);
  const std::function<void()> remove = [&] {
    std::erase_if(left, [](const std::string& folder) { return remove_tree(folder); });
    left.empty() ? loop.stop() : static_cast<void>(loop.after(kLook, remove));
  };
  loop.after(deadline.left(clock.now()), [&loop] { loop.stop(); });
  remove();
  return left.empty() || (loop.run().ok() && left.empty());
}

}  // namespace paceline::launcher
