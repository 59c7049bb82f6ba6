#include "launcher/agent/line_splitter.h"

namespace paceline::launcher {
namespace {

std::string_view without_returns(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\r') + 1);
}

void pass_on(std::string& lines, LineSplitter::Sink sink) {
  if (!lines.empty()) sink(lines, messages::LINES);
  lines.clear();
}

}  // namespace

void LineSplitter::feed(std::string_view bytes, Sink sink) {
  std::string lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    extend(bytes.substr(0, newline), lines, sink);
    if (newline == std::string_view::npos) break;
    lines += pending_;
    lines += '\n';
    begin_line(false);
    bytes.remove_prefix(newline + 1);
  }
  pass_on(lines, sink);
  if (options_.transient && pending_.ends_with('\r'))
    sink(without_returns(pending_), messages::TRANSIENT);
}

// Adds a segment without newline to the line that has begun. Of returns in a row one is kept.
void LineSplitter::extend(std::string_view segment, std::string& lines, Sink sink) {
  std::string_view text = without_returns(segment);
  const bool returns = text.size() < segment.size();
  if (!text.empty()) {
    const std::size_t last_return = text.rfind('\r');
    if (last_return != std::string_view::npos) text.remove_prefix(last_return + 1);
    if (last_return != std::string_view::npos || pending_.ends_with('\r')) begin_line(true);
  }
  while (pending_.size() + text.size() > options_.longest_line_bytes) {
    const std::size_t room = options_.longest_line_bytes - pending_.size();
    pending_ += text.substr(0, room);
    text.remove_prefix(room);
    pass_on(lines, sink);
    sink(pending_, messages::CUT);
    begin_line(false);
  }
  pending_ += text;
  if (returns && !pending_.ends_with('\r')) pending_ += '\r';
}

void LineSplitter::finish(Sink sink) {
  const std::string_view rest = without_returns(pending_);
  if (!rest.empty()) sink(rest, messages::CUT);
  begin_line(false);
}

void LineSplitter::show_begun(Sink sink) {
  if (pending_.size() == shown_bytes_ || pending_.ends_with('\r')) return;
  shown_bytes_ = pending_.size();
  sink(pending_, anew_ ? messages::TRANSIENT : messages::PROMPT);
}

void LineSplitter::end_shown() {
  if (shown_bytes_ == 0) return;
  pending_.erase(0, shown_bytes_);
  shown_bytes_ = 0;
  anew_ = false;
}

void LineSplitter::begin_line(bool anew) {
  pending_.clear();
  shown_bytes_ = 0;
  anew_ = anew;
}

}  // namespace paceline::launcher
