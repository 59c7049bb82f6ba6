#include "launcher/system/cgroup.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"

namespace paceline::launcher {
std::string own_cgroup_folder() {
  const auto mount = cgroup_mount(read_file("/proc/self/mountinfo"), "");
  const auto path = cgroup_path(read_file("/proc/self/cgroup"), "");
  return mount && path ? mount->folder_of(*path).value_or("") : "";
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
  const long pid = ::syscall(SYS_clone3, &arguments, sizeof arguments);
  return pid >= 0 ? static_cast<pid_t>(pid) : ::fork();
}

void kill_cgroup(const std::string& folder) {
  const UniqueFd kill(::open((folder + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  // Where it cannot be opened this fails, too, and the sweep of descendants is all there is.
  [[maybe_unused]] const ssize_t written = ::write(kill.get(), "1", 1);
}

void remove_cgroup(const std::string& folder, const Clock& clock, Duration patience) {
  const Deadline deadline = Deadline::after(clock, patience);
  // Becomes ready for POLLPRI when the last process goes.
  const UniqueFd events(::open((folder + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  while (::rmdir(folder.c_str()) != 0 && errno == EBUSY && events) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now()));
    if (left.count() == 0) return;
    char ignored[256];
    [[maybe_unused]] const ssize_t seen = ::pread(events.get(), ignored, sizeof ignored, 0);
    pollfd changed{.fd = events.get(), .events = POLLPRI, .revents = 0};
    ::poll(&changed, 1, static_cast<int>(left.count()));
  }
}

}  // namespace paceline::launcher
