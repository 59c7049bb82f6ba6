// Work that may hang in the kernel or crash, in a forked process with a deadline: a wait for a
// traced process, a file on a network file system that does not answer.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "comm/base/unique_fd.h"
#include "launcher/channel/frame.h"

namespace paceline::launcher {

/// One thread. The process dies with its parent.
class BoundedChild {
 public:
  /// Sends what is known so far; each text takes the place of the one before. At most
  /// kMaxFrameBytes; false: it is longer, or the parent has gone.
  using Send = FunctionRef<bool(const std::string& text)>;

  /// Forks a process that runs `body` and ends.
  static Result<std::unique_ptr<BoundedChild>> start(FunctionRef<void(Send)> body);
  /// Kills it, and does not wait.
  ~BoundedChild();
  BoundedChild(const BoundedChild&) = delete;
  BoundedChild& operator=(const BoundedChild&) = delete;

  /// What it sent last; none: nothing.
  const std::optional<std::string>& said() const { return said_; }
  /// `body` has returned.
  bool is_done() const { return is_done_; }

  /// Waits until all are done, or have crashed, or the deadline has passed. Null ones are left out.
  static void wait_for(std::span<const std::unique_ptr<BoundedChild>> children, const Clock& clock,
                       Deadline deadline);

 private:
  BoundedChild(pid_t pid, UniqueFd pidfd, UniqueFd pipe)
      : pid_(pid), pidfd_(std::move(pidfd)), pipe_(std::move(pipe)) {}
  void read_more();

  const pid_t pid_;
  const UniqueFd pidfd_;  // closed: the kernel has none, and the process is not killed
  UniqueFd pipe_;         // closed: nothing more comes
  FrameDecoder decoder_;
  std::optional<std::string> said_;
  bool is_done_ = false;
};

}  // namespace paceline::launcher
