#include "launcher/head/output_format.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
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

// "[2@node1" of "[2@node1] " and of "[2@node1 13:05:07.250] ".
std::string_view whose(std::string_view tag) { return tag.substr(0, tag.find_first_of(" ]")); }

}  // namespace

std::string output_tag(int rank, std::string_view host) {
  return std::string("[").append(std::to_string(rank)).append("@").append(host) + "] ";
}

std::string timed_tag(std::string_view tag, Duration since_1970) {
  const std::int64_t ms = std::chrono::floor<std::chrono::milliseconds>(since_1970).count();
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), " %02d:%02d:%02d.%03d] ", local.tm_hour, local.tm_min,
                local.tm_sec, static_cast<int>(ms % 1000));
  return std::string(tag.substr(0, tag.find(']'))) + time.data();
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
  const std::optional<BegunLine> prompt = std::exchange(prompt_, std::nullopt);
  if (ending == messages::PROMPT) prompt_ = {std::string(tag), std::string(text)};
  if (prompt && whose(prompt->tag) == whose(tag) && text.starts_with(prompt->text)) {
    const std::size_t line = std::min(text.find('\n'), text.size() - 1) + 1;
    out += text.substr(prompt->text.size(), line - prompt->text.size());
    text.remove_prefix(line);
  } else if (prompt) {
    out += '\n';
  }
  append_tagged(out, cut && !terminal_ ? marked(tag) : std::string(tag), text);
  if (cut && terminal_) out += kCutMark;
  if (cut) out += '\n';
  transient_shown_ = ending == messages::TRANSIENT;
  return out;
}

std::string OutputFormat::echo(std::string_view text) {
  const bool ends = text.ends_with('\n');
  if (text.find('\n') != std::string_view::npos) {
    prompt_.reset();
    transient_shown_ = false;
  }
  raw_line_open_ = !ends && !prompt_ && !transient_shown_;
  return std::string(text);
}

std::string OutputFormat::finish() {
  const bool prompted = std::exchange(prompt_, std::nullopt).has_value();
  return std::exchange(transient_shown_, false) || prompted ? "\n" : "";
}

}  // namespace paceline::launcher
