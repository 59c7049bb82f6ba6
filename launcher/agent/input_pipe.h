// Standard input of a rank that comes in messages from the head.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread. SIGPIPE must be ignored.
class InputPipe {
 public:
  /// The rank's pipe has taken so many bytes; `closed`: nobody reads it any more, and nothing more
  /// is wanted.
  using Taken = std::function<void(std::size_t bytes, bool closed)>;

  /// `read_end` becomes the rank's.
  static Result<std::unique_ptr<InputPipe>> make(EventLoop& loop, Taken taken, UniqueFd& read_end);
  /// Writes to `write_end`, which does not block.
  static std::unique_ptr<InputPipe> over(EventLoop& loop, Taken taken, UniqueFd write_end);
  ~InputPipe();
  InputPipe(const InputPipe&) = delete;
  InputPipe& operator=(const InputPipe&) = delete;

  /// Never blocks: what the pipe does not take waits here. Who calls bounds that by what was taken.
  void write(std::string_view text);
  /// The rank finds the end of its input once it has read all.
  void end();
  /// Drops what has not been written.
  void close();

 private:
  InputPipe(EventLoop& loop, Taken taken, UniqueFd write_end);

  void write_some();

  EventLoop& loop_;
  const Taken taken_;
  UniqueFd write_end_;  // closed: the input has ended
  std::string queue_;
  bool ends_ = false;
};

}  // namespace paceline::launcher
