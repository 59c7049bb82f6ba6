// Who of a job's processes is the last one, and what that one does.
#pragma once

#include <string>
#include <utility>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/registry/leftovers.h"
#include "launcher/registry/user_folder.h"

namespace paceline::launcher {

/// One process's share in a job's lock (registry.h). Each of a job's three processes has its own
/// copy, by fork. May have no entry: then the three share the lock of a file in memory, and only
/// `paceline list` does not know the job.
class JobHold {
 public:
  /// `lock` is locked. Without an entry `folders` is closed.
  JobHold(UniqueFd lock, UserFolder folders, Leftovers left)
      : lock_(std::move(lock)), folders_(std::move(folders)), left_(std::move(left)) {}
  /// Leaves.
  ~JobHold() { leave(); }
  JobHold(JobHold&&) = default;
  JobHold& operator=(JobHold&&) = delete;

  /// Gives the share up. The others may clear up from now on.
  void let_go();

  /// Gives the share up, and removes the job's folder and what else it has left if nobody
  /// else has one.
  void leave();

  /// The same for one whose parent was killed: that one's share may be there a little longer than
  /// itself seems to be, so a share that is given up within `patience` counts as none.
  void leave_after_others(const Clock& clock, Duration patience);

 private:
  bool clear_up_if_last();

  UniqueFd lock_;
  UniqueFd stranger_;  // the same file once the share is given up
  UserFolder folders_;
  Leftovers left_;
};

}  // namespace paceline::launcher
