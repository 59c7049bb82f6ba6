#include "launcher/head/output_format.h"

#include <algorithm>
#include <utility>

namespace paceline::launcher {
namespace {

constexpr std::string_view kClearLine = "\r\033[K";
constexpr std::string_view kCutMark = "\033[7m%\033[0m";

void append_tagged(std::string& out, std::string_view tag, std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t length = std::min(lines.find('\n'), lines.size() - 1) + 1;
    out += tag;
    out += lines.substr(0, length);
    lines.remove_prefix(length);
  }
}

std::string marked(std::string_view tag) {
  return tag.empty() ? "" : std::string(tag.substr(0, tag.size() - 1)) + "% ";
}

}  // namespace

std::string output_tag(int rank, std::string_view host) {
  return std::string("[").append(std::to_string(rank)).append("@").append(host) + "] ";
}

std::string OutputFormat::format(std::string_view tag, std::string_view text,
                                 messages::Ending ending) {
  if (text.empty()) return "";
  if (ending == messages::RAW) {
    raw_line_open_ = !text.ends_with('\n');
    return std::string(text);
  }
  std::string out(std::exchange(transient_shown_, false) ? kClearLine : std::string_view());
  if (std::exchange(raw_line_open_, false)) out += '\n';
  const bool cut = ending == messages::CUT;
  append_tagged(out, cut && !terminal_ ? marked(tag) : std::string(tag), text);
  if (cut && terminal_) out += kCutMark;
  if (cut) out += '\n';
  transient_shown_ = ending == messages::TRANSIENT;
  return out;
}

std::string OutputFormat::finish() { return std::exchange(transient_shown_, false) ? "\n" : ""; }

}  // namespace paceline::launcher
