// One output stream of one rank, on its way from a pipe to its file and to the head.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "comm/base/unique_fd.h"
#include "launcher/agent/line_splitter.h"
#include "launcher/agent/output_writer.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Reads no faster than the file and the console take it: while it does not read, the pipe fills
/// and the rank's writes block. Belongs to the loop's thread.
class RankOutput {
 public:
  using Console = std::function<void(std::string_view text, messages::Ending ending)>;
  struct Options {
    std::unique_ptr<OutputWriter> file;    ///< gets every byte; none: null
    Console console;                       ///< empty: nobody looks
    std::optional<LineSplitter> splitter;  ///< of the console; without one bytes go on as they come
    bool shows_prompts = false;            ///< a line without newline goes on after a while
    std::function<void()> before_read;     ///< called before text goes on; may be empty
    std::function<void()> ended;           ///< once: nothing more comes, and the file has it all
  };

  /// `pipe` must be non-blocking.
  RankOutput(EventLoop& loop, UniqueFd pipe, Options options);
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  /// Whether the console takes more. Off in the beginning.
  void set_console_ready(bool ready);
  /// Passes on what has been written so far, as far as file and console take it.
  void drain();
  /// Nobody is left who could write: what is in the pipe is the rest.
  void finish();
  /// The line of a prompt has been ended on the terminal, by its user.
  void end_prompt();

 private:
  void watch();
  bool read_some();
  void pass_on(std::string_view text);
  void await_prompt();
  bool pipe_is_empty() const;
  void end();

  EventLoop& loop_;
  UniqueFd pipe_;
  Options options_;
  bool console_ready_ = false;
  bool reading_ = false;
  bool finishing_ = false;
  std::optional<EventLoop::TimerId> prompt_;  // until a line without newline counts as one
};

}  // namespace paceline::launcher
