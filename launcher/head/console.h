// The head's standard output and standard error.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <unistd.h>

#include "launcher/channel/messages.pb.h"
#include "launcher/head/output_format.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Writes from the loop, and only what a descriptor can take at once, so a reader that does not
/// read stops neither signals nor timers. Where both streams are the same file they share one
/// queue, so that their lines do not cut each other. Belongs to the loop's thread.
class Console {
 public:
  /// Borrows the descriptors, which stay as they are (blocking). `input_fd` gets the echo of what
  /// is typed if neither of the others is a terminal.
  Console(EventLoop& loop, int output_fd, int error_fd, int input_fd = STDIN_FILENO);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void print(messages::Stream stream, std::string_view tag, std::string_view text,
             messages::Ending ending);
  /// A line of the launcher's own on standard error: "paceline: …".
  void say(std::string_view text);
  /// The echo of typed text.
  void echo(std::string_view text);
  /// Ends a transient line, if one is shown.
  void finish();

  bool output_is_terminal() const { return output_.terminal; }
  std::size_t backlog_bytes() const {
    return output_.queue.size() + error_.queue.size() + input_.queue.size();
  }
  /// For how long a stream has taken nothing of its backlog; 0: there is none.
  Duration blocked_for() const;
  /// Calls `drained` whenever the backlog has gone.
  void when_drained(std::function<void()> drained) { drained_ = std::move(drained); }
  /// Calls `broken` once with the errno when standard output cannot be written any more. What is
  /// printed there afterwards is dropped; what standard error does not take always is.
  void when_output_broken(std::function<void(int)> broken) { broken_ = std::move(broken); }

 private:
  struct Sink {
    explicit Sink(int descriptor);
    int fd;
    bool terminal;
    OutputFormat format;
    std::string queue;
    std::size_t written = 0;
    TimePoint waits_since{};  // while the queue is not empty
    bool usable = true;
  };

  Sink& sink(messages::Stream stream);
  void queue(Sink& sink, const std::string& bytes);
  void write_some(Sink& sink);
  void give_up(Sink& sink, int error);

  EventLoop& loop_;
  Sink output_;
  Sink error_;
  Sink input_;
  bool shared_;
  std::function<void()> drained_;
  std::function<void(int)> broken_;
};

}  // namespace paceline::launcher
