// The jobs of one user on one host: a folder for each, in which a record says what it is.
//
//   <place>/paceline-<uid>/            the user's own, mode 0700
//     <job id>/                        one job
//       record                         locked (flock) while the job lives
//
// The lock belongs to the open record that head, agent and spawn helper share by forking, so the
// kernel gives it up when the last of the three has gone, however that came about. Ranks do not
// have it: it is close-on-exec. Whoever gets the lock of a record removes what the job has left;
// until the job's folder is gone nobody else can get it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "launcher/registry/hold.h"
#include "launcher/registry/record.h"
#include "launcher/registry/user_folder.h"

namespace paceline::launcher {

/// One thread.
class JobRegistry {
 public:
  struct Options {
    std::vector<std::string> places;  ///< the best first
    std::string shared_memory = "/dev/shm";
    std::string cgroups;  ///< where to make a job's own; empty: nowhere
    uid_t user = 0;
    std::string host;
  };
  /// The caller's own, as its environment says.
  static Options here();

  explicit JobRegistry(Options options) : options_(std::move(options)) {}

  struct Entered {
    JobHold hold;
    std::string warning;  ///< why there is no entry; empty: there is one
    std::string cgroup;   ///< of the job's ranks; empty where this user may not make one
    std::string folder;   ///< of the entry; empty: there is none
  };
  /// Writes the job down. Call it before the fork of those who share the hold. The record's cgroup
  /// is found here.
  Result<Entered> enter(JobRecord record) const;

  struct Found {
    std::vector<JobRecord> running;    ///< in the order of their begin
    std::vector<std::string> removed;  ///< ids of those that had ended, and whose rest was removed
  };
  /// All jobs of this user on this host. Removes what those have left that nobody holds.
  Found sweep() const;

  /// The folder of a job's entry; empty: it has none.
  std::string folder_of(const std::string& job_id) const;

  /// Whether somebody still holds the job. Removes what it has left if nobody does.
  bool is_running(const std::string& job_id) const;

 private:
  Result<JobHold> enter_at(const std::string& place, const JobRecord& record) const;
  Leftovers leftovers_of(const std::string& job_id, const std::string& cgroup) const;
  bool visit(const UserFolder& folders, const std::string& name, Found& found) const;

  Options options_;
};

}  // namespace paceline::launcher
