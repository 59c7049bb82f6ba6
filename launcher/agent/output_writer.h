// Writes the files of the output directory, and waits where the disk does not take them.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "launcher/agent/output_files.h"
#include "launcher/channel/silence.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

class OutputWriter;

/// Tries again, for all files of a host, what they did not take. Belongs to the loop's thread and
/// outlives its writers.
class WriteRetry {
 public:
  using Say = std::function<void(const std::string& text)>;
  struct Options {
    Duration period = std::chrono::seconds(1);
    Duration patience = kMaxFileWait;  ///< as long as no file takes a byte
    Say notice;                        ///< files have to wait; no file waits any more
    Say give_up;  ///< once: the patience is at its end. From then on writers drop what they get
  };

  WriteRetry(EventLoop& loop, Options options);
  ~WriteRetry();
  WriteRetry(const WriteRetry&) = delete;
  WriteRetry& operator=(const WriteRetry&) = delete;

  void add(OutputWriter& writer);
  bool given_up() const { return given_up_; }
  /// Tells that no file waits any more, where that has not been told yet.
  void settle();

 private:
  void arm();
  void round();
  void abandon();

  EventLoop& loop_;
  const Options options_;
  std::vector<OutputWriter*> waiting_;
  // While it is set there is trouble; that ends when nothing has waited for a whole period, so a
  // disk with a little room now and then does not fill the console with notices.
  std::optional<EventLoop::TimerId> timer_;
  TimePoint stuck_since_;
  bool given_up_ = false;
};

/// One file. Belongs to the loop's thread.
class OutputWriter {
 public:
  /// Borrows `retry`.
  OutputWriter(WriteRetry& retry, OutputFile file) : retry_(retry), file_(std::move(file)) {}
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  /// Writes `bytes`; what the file does not take is kept. Not to be called while waiting().
  void write(std::string_view bytes);
  bool waiting() const { return !rest_.empty(); }
  /// Calls `resumed` whenever waiting() has ended.
  void when_resumed(std::function<void()> resumed) { resumed_ = std::move(resumed); }

  /// For WriteRetry. try_again() returns how many bytes the file took, why() tells what kept it
  /// from taking more: "cannot write '/tmp/rank.0/stdout': No space left on device".
  std::size_t try_again();
  std::string why() const;
  void drop() { rest_.clear(); }
  void resume() {
    if (resumed_) resumed_();
  }

 private:
  std::size_t write_some(std::string_view bytes);

  WriteRetry& retry_;
  OutputFile file_;
  std::string rest_;
  int error_ = 0;  // of the last write that failed
  std::function<void()> resumed_;
};

}  // namespace paceline::launcher
