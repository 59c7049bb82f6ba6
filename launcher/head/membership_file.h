// The membership log of a job in a file: `paceline run --membership FILE`.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/job/membership.h"

namespace paceline::launcher {

/// One job at a time has the file. Entries survive the end of this process, but are not waited for
/// to reach the disk: a disk that hangs would stop the job.
class MembershipFile {
 public:
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;

  /// Makes the file, or goes on with that of an earlier run of the job: an entry that was cut off
  /// is removed. If another process has the file, this waits for its end, up to kPatience, and
  /// `warn` gets a sentence about it. Errors name the file.
  static Result<std::unique_ptr<MembershipFile>> open(
      const std::string& path, const MembershipJob& job,
      const std::function<void(const std::string&)>& warn);
  /// The processes of a head that was killed may need that long to end.
  static constexpr std::chrono::seconds kPatience{8};

  /// The state that earlier runs have left.
  const Membership& before() const { return before_; }
  /// An entry that cannot be written leaves nothing in the file.
  Status append(const MembershipEntry& entry);

 private:
  MembershipFile(std::string path, UniqueFd fd) : path_(std::move(path)), fd_(std::move(fd)) {}
  Status read(const MembershipJob& job);
  Status write(const std::string& text);

  const std::string path_;
  const UniqueFd fd_;
  Membership before_;
  std::size_t bytes_ = 0;  // of whole lines
  bool is_torn_ = false;   // a part of an entry follows them
};

/// The number of a run's first start, which follows those of earlier runs. `log` may be null.
inline std::uint32_t first_epoch_after(const MembershipFile* log) {
  return log != nullptr ? log->before().next_epoch() : 0;
}

}  // namespace paceline::launcher
