// Kills by the OOM killer as the memory cgroups of the ranks count them: what an ordinary user may
// read where the kernel's log is closed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace paceline::launcher {

/// A cgroup of the hierarchy that has the memory controller.
struct MemoryCgroup {
  bool unified = false;  ///< version 2
  std::string path;      ///< "/…", as /proc/PID/cgroup has it

  bool operator==(const MemoryCgroup&) const = default;
};

/// From the text of /proc/PID/cgroup. Nothing: no memory controller, or a cgroup out of sight.
std::optional<MemoryCgroup> memory_cgroup(std::string_view proc_cgroup);

/// The number on the line "name number" of a file of counters.
std::optional<std::uint64_t> counter(std::string_view text, std::string_view name);

/// Compares the counters (memory.events.local or memory.events in version 2, memory.oom_control in
/// version 1) with their values when the ranks started. What it cannot know:
///   - whom the kernel killed: a count that rose stands for one rank that was killed by SIGKILL, so
///     another process of the rank's own cgroup that was killed while the rank lived on can be
///     taken for a rank that somebody killed later;
///   - a cgroup that a process has moved to since it started;
///   - the cgroup at whose limit it was, in version 1: there it is always the rank's own.
class OomCounts {
 public:
  /// `root` stands before /proc and the mounted folders; a test has its own.
  explicit OomCounts(std::string root = "") : root_(std::move(root)) {}

  /// Notes in which cgroup `pid` is and what its counters say.
  void started(pid_t pid);
  /// For a process that has ended by SIGKILL: the cgroup at whose limit the OOM killer killed it.
  /// Takes one of the kills that were counted since the start.
  std::optional<std::string> killed(pid_t pid);

 private:
  // A cgroup on the way from a rank's to the root, where the limit may be.
  struct Level {
    std::string path;
    std::string folder;
    std::uint64_t limits_hit = 0;  // when the ranks started
  };
  struct Counted {
    bool unified = false;
    std::vector<Level> levels;  // the ranks' own first
    std::uint64_t kills = 0;    // that are older than the ranks or have been taken
  };
  std::optional<Counted> count(const MemoryCgroup& cgroup) const;
  std::string limit_of(const Counted& counted) const;

  std::string root_;
  std::map<std::string, Counted> cgroups_;  // by path
  std::map<pid_t, std::string> processes_;  // path of each
};

}  // namespace paceline::launcher
