#include "launcher/system/cgroup.h"

#include <cerrno>
#include <chrono>
#include <fstream>
#include <set>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

// Bounds the passes if processes fork without end.
constexpr int kPasses = 32;

bool write_to(const std::string& file, std::string_view text) {
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) > 0;
}

std::vector<pid_t> members_of(const std::string& folder) {
  std::vector<pid_t> members;
  std::ifstream list(folder + "/cgroup.procs");
  // Version 2 shows processes of an outer PID namespace as 0.
  for (pid_t member = 0; list >> member;)
    if (member > 0) members.push_back(member);
  return members;
}

// A process that forks while it is being frozen may leave a child that has not been killed yet.
void kill_members(const std::string& folder) {
  std::set<pid_t> killed;
  bool more = true;
  for (int pass = 0; pass < kPasses && more; ++pass) {
    more = false;
    for (const pid_t member : members_of(folder)) {
      more = killed.insert(member).second || more;
      ::kill(member, SIGKILL);
    }
  }
}

// False if there is nothing to wait for, or it has not come in time.
bool await_change(const std::string& folder, int events, std::chrono::milliseconds patience) {
  if (patience.count() == 0) return false;
  if (events >= 0) {
    char ignored[256];
    [[maybe_unused]] const ssize_t seen = ::pread(events, ignored, sizeof ignored, 0);
    pollfd changed{.fd = events, .events = POLLPRI, .revents = 0};
    return ::poll(&changed, 1, static_cast<int>(patience.count())) > 0;
  }
  // Version 1 announces nothing.
  const std::vector<pid_t> left = members_of(folder);
  if (left.empty()) return false;
  const UniqueFd pidfd = open_pidfd(left.front());
  pollfd ended{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  return !pidfd || ::poll(&ended, 1, static_cast<int>(patience.count())) > 0;
}

}  // namespace

std::string own_cgroup_folder() {
  const std::string mounts = read_file("/proc/self/mountinfo");
  const std::string paths = read_file("/proc/self/cgroup");
  for (const CgroupController controller : {"", "freezer"}) {
    const auto mount = cgroup_mount(mounts, controller);
    const auto path = cgroup_path(paths, controller);
    std::string folder = mount && path ? mount->folder_of(*path).value_or("") : "";
    if (!folder.empty() && ::access(folder.c_str(), W_OK) == 0) return folder;
  }
  return "";
}

std::string make_cgroup(const std::string& parent, const std::string& name) {
  if (parent.empty()) return "";
  std::string folder = parent + "/" + name;
  return ::mkdir(folder.c_str(), 0755) == 0 ? folder : "";
}

pid_t fork_into(const UniqueFd& cgroup) {
  if (!cgroup) return ::fork();
  clone_args arguments{};
  arguments.flags = CLONE_INTO_CGROUP;
  arguments.exit_signal = SIGCHLD;
  arguments.cgroup = static_cast<decltype(arguments.cgroup)>(cgroup.get());
  const long forked = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  if (forked >= 0) return static_cast<pid_t>(forked);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const UniqueFd members(::openat(cgroup.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t entered = ::write(members.get(), "0", 1);
  return pid;
}

void kill_cgroup(const std::string& folder) {
  if (!write_to(folder + "/cgroup.kill", "1")) empty_cgroup(folder);
}

void empty_cgroup(const std::string& folder) {
  // Not where it cannot be frozen: then the sweep of descendants is all there is.
  if (write_to(folder + "/freezer.state", "FROZEN")) {
    kill_members(folder);
    write_to(folder + "/freezer.state", "THAWED");
  } else if (write_to(folder + "/cgroup.freeze", "1")) {
    kill_members(folder);
    write_to(folder + "/cgroup.freeze", "0");
  }
}

void remove_cgroup(const std::string& folder, const Clock& clock, Duration patience) {
  const Deadline deadline = Deadline::after(clock, patience);
  // Becomes ready for POLLPRI when the last process goes.
  const UniqueFd events(::open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  while (::rmdir(folder.c_str()) != 0 && errno == EBUSY) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now()));
    if (!await_change(folder, events.get(), left)) return;
  }
}

}  // namespace paceline::launcher
