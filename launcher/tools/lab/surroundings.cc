#include "launcher/tools/lab/surroundings.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/if.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/system/descriptors.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr unsigned long kNoTricks = MS_NOSUID | MS_NODEV;

Status mount_new(const std::string& kind, const std::string& at, const std::string& options = "") {
  if (::mount(kind.c_str(), at.c_str(), kind.c_str(), kNoTricks, options.c_str()) == 0)
    return Status();
  return system_error("mount " + kind + " on " + at);
}

// What is at `path` now, to be put somewhere else later; closed where there is nothing.
UniqueFd take_tree(const std::string& path) {
  return UniqueFd(
      ::open_tree(AT_FDCWD, path.c_str(), OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
}

Status put_tree(const UniqueFd& tree, const std::string& at) {
  if (::move_mount(tree.get(), "", AT_FDCWD, at.c_str(), MOVE_MOUNT_F_EMPTY_PATH) == 0)
    return Status();
  return system_error("mount a folder on " + at);
}

Status make_folder(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return Status();
  return system_error("make " + path);
}

// /sys shows the devices of this namespace; the control groups in it stay. Where that is refused
// it shows those of the machine, which does no harm.
void mount_sys() {
  const UniqueFd groups = take_tree("/sys/fs/cgroup");
  if (!groups || !mount_new("sysfs", "/sys").ok()) return;
  static_cast<void>(put_tree(groups, "/sys/fs/cgroup").ok());
}

Status mount_run(const LabSite& site) {
  const UniqueFd folder = take_tree(site.folder);
  if (!folder) return system_error("open " + site.folder);
  PACELINE_TRY(mount_new("tmpfs", "/run", "mode=755"));
  for (const char* path : {"/run/user", "/run/lock", "/run/sshd", kLabFolderInHosts})
    PACELINE_TRY(make_folder(path, 0755));
  PACELINE_TRY(make_folder("/run/user/" + std::to_string(::geteuid()), 0700));
  return put_tree(folder, kLabFolderInHosts);
}

// Puts an empty folder over this one. A folder that is not there needs none: the last command of a
// user removes it, at any moment.
Status hide(const std::string& folder) {
  const int mounted = ::mount("tmpfs", folder.c_str(), "tmpfs", kNoTricks, "mode=700");
  if (mounted == 0 || errno == ENOENT || errno == ENOTDIR) return Status();
  return system_error("mount tmpfs on " + folder);
}

}  // namespace

Status leave_surroundings(std::vector<int> kept) {
  ::setsid();
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) replace_by_null(standard);
  std::sort(kept.begin(), kept.end());
  int from = STDERR_FILENO + 1;
  for (const int fd : kept) {
    if (fd > from) close_descriptors(from, fd - 1);
    from = fd + 1;
  }
  close_descriptors(from, INT_MAX);
  ::umask(022);
  if (::chdir("/") != 0) return system_error("go to /");
  return Status();
}

Status mount_for_switch(const LabSite& site) {
  if (::mount("", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0)
    return system_error("have mounts of its own");
  const std::string hosts = site.folder + "/etc_hosts";
  if (::mount(hosts.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) != 0)
    return system_error("mount a file on /etc/hosts");
  return Status();
}

Status mount_for_host(const LabSite& site) {
  PACELINE_TRY(mount_new("proc", "/proc"));
  mount_sys();
  PACELINE_TRY(mount_new("tmpfs", "/dev/shm", "mode=1777"));
  PACELINE_TRY(mount_run(site));
  for (const std::string& folder : site.hidden) PACELINE_TRY(hide(folder));
  return Status();
}

Status switch_ipv6_off() {
  for (const char* which : {"all", "default"}) {
    const std::string path = std::string("/proc/sys/net/ipv6/conf/") + which + "/disable_ipv6";
    const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file && errno == ENOENT) return Status();  // there is no IPv6 at all
    if (!file || ::write(file.get(), "1", 1) != 1) return system_error("write " + path);
  }
  return Status();
}

// A namespace may choose what the machine lets everybody choose: cubic is not always among it.
void control_congestion_by_losses() {
  const UniqueFd file(::open("/proc/sys/net/ipv4/tcp_congestion_control", O_WRONLY | O_CLOEXEC));
  for (const std::string_view name : {"cubic", "reno"})
    if (file && ::pwrite(file.get(), name.data(), name.size(), 0) > 0) return;
}

Status carry_units(const std::string& device, bool in_units) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return system_error("make a socket");
  for (const unsigned command : {0u + ETHTOOL_STSO, 0u + ETHTOOL_SGSO, 0u + ETHTOOL_SGRO}) {
    ethtool_value value{.cmd = command, .data = in_units ? 1u : 0u};
    ifreq request{};
    std::strncpy(request.ifr_name, device.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0)
      return system_error("switch the offloads of " + device);
  }
  return Status();
}

}  // namespace paceline::launcher
