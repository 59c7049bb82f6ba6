// Where a user's jobs are written down: the folder "paceline-<uid>" in one of several places.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// $XDG_RUNTIME_DIR, /run/user/<uid>, $TMPDIR, /tmp: the best first, none twice. The second is what
/// the first would be: a shell that was not given the variable finds the same jobs.
std::vector<std::string> runtime_places(const std::function<const char*(const char*)>& variable,
                                        uid_t user);

struct UserFolder {
  UniqueFd fd;
  std::string path;

  /// The last job leaves no trace. Whoever had it open finds that nothing can be made in it.
  void remove_if_empty() const;
};

enum class IfMissing { kMake, kFail };

/// The user's folder in `place`, open. Anybody can make a folder of that name in /tmp: one that is
/// a symbolic link, somebody else's, or open to others is refused. `owner`: as whom this process
/// knows the user, where it is in a user namespace that gives him another number. kUnavailable: it
/// is missing, or somebody has removed it just after it was made.
Result<UserFolder> open_user_folder(const std::string& place, uid_t user, IfMissing if_missing,
                                    std::optional<uid_t> owner = std::nullopt);

}  // namespace paceline::launcher
