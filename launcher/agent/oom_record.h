// What the kernel's log says about its OOM killer. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace paceline::launcher {

/// Where the OOM killer worked when no memory cgroup was at its limit.
inline constexpr std::string_view kWholeHost = "the whole host";
/// The same where the kernel left the cgroup's name out of its log.
inline constexpr std::string_view kSomeMemoryCgroup = "a memory cgroup";

/// Whom the OOM killer has killed, by the records of /dev/kmsg (the kernel's
/// Documentation/ABI/testing/dev-kmsg), which are given one by one, in their order.
///
/// Kernels from 4.8 to 6.x are understood. The newer ones write two lines for each kill:
///   oom-kill:constraint=…,oom_memcg=/limit,task_memcg=/limit/task,task=name,pid=N,uid=U
///   Memory cgroup out of memory: Killed process N (name) total-vm:…
/// of which they leave out the first when kills come fast; before 5.0 they wrote
///   Task in /limit/task killed as a result of limit of /limit
///   Killed process N (name) total-vm:…
/// Lines that processes have written to the log are not believed. Only the last kMost kills are
/// kept.
class OomRecords {
 public:
  static constexpr std::size_t kMost = 256;

  /// One record: "priority,sequence,time,flags;text".
  void add(std::string_view record);
  /// The cgroup at whose limit process `pid` was killed, by its full path, "/…"; or in words where
  /// it was none, or none that is known; nothing: there is no record of `pid`.
  std::optional<std::string> where(pid_t pid) const;

 private:
  struct Kill {
    pid_t pid = 0;
    std::string where;
  };
  void read_summary(std::string_view text);
  void read_kill(std::string_view text);
  void note(std::optional<pid_t> pid, std::string_view where);

  std::deque<Kill> kills_;    // the oldest first
  std::string cgroup_;        // that earlier lines about the kill in hand have named
  bool whole_group_ = false;  // cgroup_ is for all kills that follow
};

}  // namespace paceline::launcher
