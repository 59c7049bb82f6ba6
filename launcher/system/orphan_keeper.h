// The last of a chain of processes to clear up what they have started.
#pragma once

#include <memory>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// A process that starts others which clear up for themselves, and may be killed before they have,
/// keeps one of these from before the first fork until they have ended.
class OrphanKeeper {
 public:
  /// Null where this process has children already, as one has that a shell became by exec
  /// (`exec paceline run … > >(tee log)`): their orphans are not ours to kill.
  static Result<std::unique_ptr<OrphanKeeper>> start(const Clock& clock);

  /// Ends all orphans, and those of a process group that can clear up for itself only when they
  /// have not done so in their time.
  ~OrphanKeeper();
  OrphanKeeper(const OrphanKeeper&) = delete;
  OrphanKeeper& operator=(const OrphanKeeper&) = delete;

  void let_clear_up(pid_t group) { spared_group_ = group; }

 private:
  explicit OrphanKeeper(const Clock& clock) : clock_(clock) {}

  const Clock& clock_;
  pid_t spared_group_ = 0;
};

}  // namespace paceline::launcher
