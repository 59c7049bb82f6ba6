// How a rank's text becomes bytes of the console. Pure.
#pragma once

#include <string>
#include <string_view>

#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// "[2@node1] ", before each line of that rank.
std::string output_tag(int rank, std::string_view host);

/// The state of one console: on a terminal, a transient line stays until the next text takes its
/// place; elsewhere there are none.
class OutputFormat {
 public:
  explicit OutputFormat(bool terminal) : terminal_(terminal) {}

  /// `tag` may be empty. RAW text goes through as it is. A CUT line gets its newline here; on a
  /// terminal an inverse % before it says so, as zsh does.
  std::string format(std::string_view tag, std::string_view text, messages::Ending ending);
  /// What the console needs at the end of the job, so that a transient line stays readable.
  std::string finish();

 private:
  bool terminal_;
  bool transient_shown_ = false;
};

}  // namespace paceline::launcher
