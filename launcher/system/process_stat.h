// What /proc/PID/stat says of a process or a thread. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

namespace paceline::launcher {

/// /proc/PID/stat, or that of a thread. The name may have any character.
struct ProcessStat {
  std::string name;
  char state = 0;  ///< of proc(5): R, S, D, …
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t flags = 0;       ///< PF_… of include/linux/sched.h
  std::uint64_t cpu_ticks = 0;   ///< in user and kernel mode
  std::uint64_t start_time = 0;  ///< as ProcessIdentity
};
/// None: the text is cut or malformed, as that of a process that ends.
std::optional<ProcessStat> parse_stat(std::string_view text);

}  // namespace paceline::launcher
