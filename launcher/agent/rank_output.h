// One output stream of one rank, on its way from a pipe to the head.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "comm/base/unique_fd.h"
#include "launcher/agent/line_splitter.h"
#include "launcher/process/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class RankOutput {
 public:
  using Sink = std::function<void(std::string_view text, messages::Ending ending)>;

  /// `pipe` must be non-blocking. Without a splitter the bytes go on as they come.
  RankOutput(EventLoop& loop, UniqueFd pipe, std::optional<LineSplitter> splitter, Sink sink);
  ~RankOutput() { set_reading(false); }
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  /// While off, the pipe fills and the rank's writes block.
  void set_reading(bool on);
  /// Passes on what has been written so far, without waiting.
  void drain();
  /// The same, and then the line without newline: nobody is left who could write.
  void finish();

 private:
  bool read_some();
  void end();

  EventLoop& loop_;
  UniqueFd pipe_;
  std::optional<LineSplitter> splitter_;
  Sink sink_;
  bool reading_ = false;
};

}  // namespace paceline::launcher
