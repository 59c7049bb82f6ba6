// Control groups as the kernel shows them: cgroups(7). Pure, but for cgroup_folders() and
// cpu_quota().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline {

/// The words of `text` between separators; none is empty.
std::vector<std::string_view> split_words(std::string_view text, char separator);
/// Whether `word` is one of a list with commas.
bool has_word(std::string_view list, std::string_view word);

/// A hierarchy in the file system.
struct CgroupMount {
  std::string root;  ///< the cgroup that is seen at `point`
  std::string point;

  bool operator==(const CgroupMount&) const = default;

  /// The folder of the cgroup `path`; nothing where it is not below `root`.
  std::optional<std::string> folder_of(const std::string& path) const;
};

/// A controller's hierarchy of version 1; "" means the one of version 2, which has them all.
using CgroupController = std::string_view;

/// Where it is mounted, by the text of /proc/self/mountinfo.
std::optional<CgroupMount> cgroup_mount(std::string_view mountinfo, CgroupController controller);

/// In which of its cgroups a process is, "/…", by the text of /proc/PID/cgroup. Nothing where there
/// is none, or it is out of sight of this process's cgroup namespace.
std::optional<std::string> cgroup_path(std::string_view proc_cgroup, CgroupController controller);

/// The folder of the cgroup of a process in the hierarchy of a controller, then those above it up
/// to the root that this process sees. `process`: its number, or "self". `root` as in cpu_quota().
std::vector<std::string> cgroup_folders(const std::string& process, CgroupController controller,
                                        const std::string& root = "");

/// How many CPUs' worth of time the cgroups of this process allow it, by the bandwidth controller:
/// the least of the quotas from its own cgroup upwards. Infinity where there is none. `root` stands
/// before /proc and the mounted folders; a test has its own.
double cpu_quota(const std::string& root = "");

}  // namespace paceline
