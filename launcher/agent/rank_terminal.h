// The pseudo-terminal that is the standard input of a rank, if the head reads a terminal.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include <paceline/status.h>

#include "launcher/agent/input_pipe.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// Belongs to the loop's thread. SIGPIPE must be ignored.
class RankTerminal {
 public:
  struct Options {
    messages::Terminal like;  ///< the terminal that the head reads
    InputPipe::Taken taken;
    std::function<void(std::string_view text)> shows;  ///< gets what the terminal shows
  };

  /// `terminal` becomes the rank's.
  static Result<std::unique_ptr<RankTerminal>> make(EventLoop& loop, Options options,
                                                    UniqueFd& terminal);
  ~RankTerminal();
  RankTerminal(const RankTerminal&) = delete;
  RankTerminal& operator=(const RankTerminal&) = delete;

  void write(std::string_view text) { input_->write(text); }
  /// The user's terminal has hung up, and so does this one.
  void end();
  void resize(const messages::WindowSize& size);
  /// Passes on what is shown by now.
  void drain();
  /// While the head takes nothing, writes to the terminal block in the end.
  void set_reading(bool on);

 private:
  RankTerminal(EventLoop& loop, Options options, UniqueFd controller,
               std::unique_ptr<InputPipe> input);

  bool read_some();

  EventLoop& loop_;
  const Options options_;
  UniqueFd controller_;  // closed: no process of the rank has the terminal any more
  std::unique_ptr<InputPipe> input_;
};

}  // namespace paceline::launcher
