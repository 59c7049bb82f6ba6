// How a rank's text becomes bytes of the console. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// "[2@node1] ", before each line of that rank. Like every tag it ends with a space.
std::string output_tag(int rank, std::string_view host);

/// The tag with a time of day, in milliseconds and the local time zone: "[2@node1 13:05:07.250] ".
std::string timed_tag(std::string_view tag, Duration since_1970);

struct BegunLine {
  std::string tag;
  std::string text;
};

/// The state of one console: on a terminal, a transient line stays until the next text takes its
/// place; elsewhere there are none.
class OutputFormat {
 public:
  explicit OutputFormat(bool terminal) : terminal_(terminal) {}

  /// RAW text goes through as it is, and what is not RAW begins on a line of its own behind it. A
  /// CUT line gets here the newline that it lacks, and a mark that says so: on a terminal an
  /// inverse % at its end, as zsh has it, else one in its tag, "[2@node1]% ", where no byte of a
  /// rank can be taken for it. So whoever joins a rank's lines, leaving out the newlines of those
  /// that are marked, has what the rank wrote. `tag` may be empty; there the newline is all.
  /// A PROMPT stays as it is. If the text that comes next is of the same rank and begins with it,
  /// the rest of that text continues its line.
  std::string format(std::string_view tag, std::string_view text, messages::Ending ending);
  /// The echo of typed text, as it is. Its newline ends the line of a prompt.
  std::string echo(std::string_view text);
  /// What the console needs at the end of the job, so that a transient line stays readable.
  std::string finish();

 private:
  bool terminal_;
  bool transient_shown_ = false;
  bool raw_line_open_ = false;
  std::optional<BegunLine> prompt_;
};

}  // namespace paceline::launcher
