// The records of labs, in the user's folder (launcher/registry/user_folder.h), beside those of
// jobs.
//
//   <place>/paceline-<uid>/
//     lab-<name>/            one lab
//       record               locked (flock) while the lab lives: its keeper has the lock
//       hosts                for `paceline run --hostfile`
//       etc_hosts            is /etc/hosts on every host
//       ssh_config, …        with --ssh
//
// A process that gets the lock of a record removes what that lab has left, as with jobs.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/registry/user_folder.h"
#include "launcher/tools/lab/lab_record.h"

namespace paceline::launcher {

/// A lab's folder, and its record: open, and locked by whom it says.
struct LabFolder {
  UserFolder user;
  std::string name;  ///< "lab-…"
  UniqueFd record;

  std::string path() const { return user.path + "/" + name; }
};

/// One thread.
class LabFolders {
 public:
  struct Options {
    std::vector<std::string> places;  ///< the best first
    uid_t user = 0;                   ///< as the machine knows him
    uid_t owner = 0;                  ///< as this process does: 0 in the user namespace of a lab
  };
  /// The caller's own, as its environment says.
  static Options here();

  LabFolders(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {}

  struct Found {
    std::string path;
    LabRecord record;
  };
  /// All labs of this user that are up or being made. Removes what others have left, and says
  /// which ones that were.
  struct Sweep {
    std::vector<Found> up;
    std::vector<std::string> removed;
  };
  Sweep sweep() const;

  /// The one of that name, when it is up; an error says what there is instead.
  Result<Found> find(const std::string& name) const;

  /// Makes the folder of a lab. The lock lasts until the last copy of its record is closed.
  Result<LabFolder> make(const LabRecord& record) const;

  /// Kills the lab and removes it. False: there was none.
  Result<bool> remove(const std::string& name) const;

 private:
  enum class Outcome { kLives, kRemoved, kNoLab };
  Result<UserFolder> open(const std::string& place, IfMissing if_missing) const {
    return open_user_folder(place, options_.user, if_missing, options_.owner);
  }
  Outcome visit(const UserFolder& user, const std::string& name, LabRecord& record) const;
  Result<bool> remove_at(const std::string& place, const std::string& name) const;

  Options options_;
  const Clock& clock_;
};

/// Puts another record in the place of the one that was given to make().
Status rewrite(const LabFolder& folder, const LabRecord& record);

/// A file of the lab's, for its user only: the folder above it is closed to others.
Status write_lab_file(const LabFolder& folder, const std::string& name, const std::string& text);

}  // namespace paceline::launcher
