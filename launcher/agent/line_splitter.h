// Cuts what a rank writes into whole lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "comm/base/function_ref.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// A carriage return begins the line anew, as on a terminal: only what follows the last one
/// counts, except that a return just before the newline is kept as part of the line.
class LineSplitter {
 public:
  /// Gets text and how it ends: LINES, TRANSIENT or CUT of messages::Ending.
  using Sink = FunctionRef<void(std::string_view text, messages::Ending ending)>;

  struct Options {
    bool transient = false;  ///< pass on lines that will be overwritten
    std::size_t longest_line_bytes = std::size_t{64} << 10;  ///< a longer one is cut
  };

  explicit LineSplitter(const Options& options) : options_(options) {}

  void feed(std::string_view bytes, Sink sink);
  /// The stream has ended: passes on what has no newline.
  void finish(Sink sink);

 private:
  void extend(std::string_view segment, std::string& lines, Sink sink);

  Options options_;
  std::string pending_;  // the line that has begun, with its trailing carriage returns
};

}  // namespace paceline::launcher
