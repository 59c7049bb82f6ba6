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
  /// Gets text and how it ends: any of messages::Ending but RAW.
  using Sink = FunctionRef<void(std::string_view text, messages::Ending ending)>;

  struct Options {
    bool transient = false;  ///< pass on lines that will be overwritten
    std::size_t longest_line_bytes = std::size_t{64} << 10;  ///< a longer one is cut
  };

  explicit LineSplitter(const Options& options) : options_(options) {}

  void feed(std::string_view bytes, Sink sink);
  /// Passes on the line that has begun, if it is new: PROMPT, or TRANSIENT if a return began it
  /// anew. It stays, and is passed on again with what follows.
  void show_begun(Sink sink);
  /// Ends the line that show_begun() has passed on. The bytes that follow begin a new line.
  void end_shown();
  /// The stream has ended: passes on what has no newline.
  void finish(Sink sink);

 private:
  void begin_line(bool anew);
  void extend(std::string_view segment, std::string& lines, Sink sink);

  Options options_;
  std::string pending_;          // the line that has begun, with its trailing carriage returns
  std::size_t shown_bytes_ = 0;  // of it, by show_begun()
  bool anew_ = false;            // a return began it
};

}  // namespace paceline::launcher
