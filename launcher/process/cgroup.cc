#include "launcher/process/cgroup.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

bool has(std::string_view list, std::string_view word) {
  const auto items = split_words(list, ',');
  return std::find(items.begin(), items.end(), word) != items.end();
}

// mountinfo writes a space, a tab, a newline and a backslash as \ and three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 3);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 8);
    if (text[i] == '\\' && error == std::errc{} && end == digits.data() + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::optional<std::string> CgroupMount::folder_of(const std::string& path) const {
  if (root == "/") return path == "/" ? point : point + path;
  if (path == root) return point;
  if (path.starts_with(root + "/")) return point + path.substr(root.size());
  return std::nullopt;
}

std::optional<CgroupMount> cgroup_mount(std::string_view mountinfo, bool unified) {
  for (const std::string_view line : split_words(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    // id parent device root point options… - type source options
    const auto mount = split_words(line.substr(0, dash), ' ');
    const auto system = split_words(line.substr(dash + 3), ' ');
    if (mount.size() < 5 || system.size() < 3) continue;
    if (unified ? system[0] == "cgroup2" : system[0] == "cgroup" && has(system[2], "memory"))
      return CgroupMount{.root = unescape(mount[3]), .point = unescape(mount[4])};
  }
  return std::nullopt;
}

std::string own_cgroup_folder() {
  constexpr std::string_view kUnified = "0::";
  const auto mount = cgroup_mount(read_file("/proc/self/mountinfo"), true);
  if (!mount) return "";
  const std::string own = read_file("/proc/self/cgroup");
  for (const std::string_view line : split_words(own, '\n')) {
    if (!line.starts_with(kUnified)) continue;
    const std::string path(line.substr(kUnified.size()));
    // Outside of this process's cgroup namespace.
    return path.starts_with("/..") ? "" : mount->folder_of(path).value_or("");
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
