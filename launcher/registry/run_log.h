// The run record: a file of the user with one line for each run that has ended. Two files at most:
// when the file has reached its max size, it replaces the older one.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

class RunLog {
 public:
  static constexpr std::size_t kMaxBytes = 1 << 20;  ///< of a file

  /// $XDG_STATE_HOME/paceline, else $HOME/.local/state/paceline. None: neither variable is an
  /// absolute path.
  static std::optional<std::string> user_folder(
      const std::function<const char*(const char*)>& variable);

  explicit RunLog(std::string folder) : folder_(std::move(folder)) {}

  const std::string& folder() const { return folder_; }

  /// Makes the folder if it is missing. Waits for other runs that append, at most a second.
  /// Code::kDenied: this user has no folder that can be written, and so keeps no record.
  Status append(const RunEntry& run) const;
  /// The oldest first. Lines that cannot be read are left out.
  std::vector<RunEntry> read() const;

 private:
  const std::string folder_;
};

/// The latest one-rank run of the same command in the same folder, on one of `hosts`, that
/// succeeded and has samples. Nothing was left out of it by --ablate.
std::optional<RunEntry> baseline_of(const std::vector<RunEntry>& runs, const std::string& command,
                                    const std::string& directory,
                                    const std::vector<std::string>& hosts);

/// The latest run like `like`, of the same command in the same folder, with as many ranks on the
/// same hosts, that succeeded and has steps. Nothing was left out of it by --ablate.
std::optional<RunEntry> whole_run_of(const std::vector<RunEntry>& runs, const RunEntry& like);

/// The run whose id begins so, or the latest one for "last". Code::kInvalidArgument: there is none,
/// or there are several.
Result<RunEntry> find_run(const std::vector<RunEntry>& runs, std::string_view word);

}  // namespace paceline::launcher
