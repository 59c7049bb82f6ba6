// The folder of one job and the lock of its record. Every name is looked up from the open folder of
// the user, so that nobody can put another one in its place.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/function_ref.h"
#include "comm/base/unique_fd.h"
#include "launcher/registry/user_folder.h"

namespace paceline::launcher {

/// Whether it is the name of a job's folder, finished or not.
bool is_job_folder(std::string_view name);

struct JobFolder {
  UserFolder user;
  UniqueFd record;  ///< locked
};

/// Makes the folder `name` with its record in the user's folder, which `open_user` makes where it
/// is missing. Until it is whole and locked the folder has another name, so nobody takes it for a
/// job; a sweeper that finds it in that moment, or the user's folder while it is still empty,
/// removes it, and then both are made again, for some seconds.
Result<JobFolder> make_job_folder(FunctionRef<Result<UserFolder>()> open_user,
                                  const std::string& name, const std::string& text);

/// The record of a folder, open but not locked; closed where there is none. An empty folder, which
/// is what a crash at the very begin leaves, is removed.
UniqueFd open_record(const UniqueFd& folders, const std::string& name);

/// The whole text; a record is short.
std::string read_record(const UniqueFd& record);

enum class Lock { kTaken, kHeldByOthers };
/// Does not wait. Another open file than the one that holds the lock is refused, in this process
/// too.
Lock try_lock(const UniqueFd& file);

/// Opens the same file anew, so that its lock is tried for as a stranger's.
UniqueFd reopen(const UniqueFd& file);

/// Whether the file still has a name.
bool is_linked(const UniqueFd& file);

/// The caller has the record's lock. The record goes last: whoever is killed on the way leaves the
/// rest to the next one.
void remove_job_folder(const UniqueFd& folders, const std::string& name);

}  // namespace paceline::launcher
