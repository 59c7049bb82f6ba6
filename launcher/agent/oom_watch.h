// Was it the kernel's OOM killer that killed a rank?
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

#include "comm/base/unique_fd.h"
#include "launcher/agent/oom_count.h"
#include "launcher/agent/oom_record.h"

namespace paceline::launcher {

/// Belongs to one thread. It reads the kernel's log where that may be read (by root, and by users
/// where kernel.dmesg_restrict is 0) and means the same by its process numbers as the agent does;
/// there an answer is certain. Elsewhere it asks the counters of the ranks' memory cgroups, with
/// the limits that oom_count.h states.
///
///   OomWatch watch = OomWatch::open();          // before the first rank
///   watch.started(pid);                         // when it has been forked
///   if (auto where = watch.killed(pid, wait_status)) …   // when it has been reaped
///
/// Limits: a rank whose child the OOM killer has killed was not killed itself, whatever code it
/// ends with. The kernel writes its line before it kills, except where it is sparing with lines;
/// then the answer can come too early, and none is given.
class OomWatch final {
 public:
  /// Sees what happens from now on.
  static OomWatch open();

  /// A rank; to be called as soon as its number is known.
  void started(pid_t pid);
  /// To be called once for a rank that has ended, unless this host's agent has itself sent it a
  /// SIGKILL. The cgroup, "/…", at whose limit the OOM killer killed it; in words, without a slash,
  /// where that was none ("the whole host") or cannot be named; nothing: it did not, or that cannot
  /// be known.
  std::optional<std::string> killed(pid_t pid, int wait_status);

 private:
  OomWatch() = default;
  void read_log();

  UniqueFd log_;              // /dev/kmsg; not open: it may not be read, or means other numbers
  bool log_complete_ = true;  // nothing was overwritten before it was read
  OomRecords records_;
  OomCounts counts_;
};

}  // namespace paceline::launcher
