#include "topology/read/json_text.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

constexpr std::size_t kMostKeyBytes = 128;  // in an error

std::size_t line_at(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  return static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
}

// Before parsing, since what is parsed is also destroyed, level by level.
Status check_depth(const NamedText& file) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < file.text.size(); ++i) {
    const char c = file.text[i];
    if (c == '"') in_string = !in_string;
    if (in_string && c == '\\') ++i;
    if (in_string) continue;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && depth > 0) --depth;
    if (depth > kMostJsonDepth)
      return unreadable(file.name, line_at(file.text, i),
                        "values are nested more than " + std::to_string(kMostJsonDepth) + " deep");
  }
  return {};
}

// Notes the first key that an object has twice: the parser would keep the last.
class KeyCheck {
 public:
  void see(json::parse_event_t event, const json& parsed) {
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event != json::parse_event_t::key || twice_) return;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!keys_.back().insert(key).second) twice_ = key;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of the objects around
  std::optional<std::string> twice_;
};

}  // namespace

Result<json> parse_json(const NamedText& file) {
  PACELINE_TRY(check_depth(file));
  try {
    KeyCheck keys;
    json document = json::parse(file.text, [&](int, json::parse_event_t event, const json& parsed) {
      keys.see(event, parsed);
      return true;
    });
    if (!keys.twice()) return document;
    return unreadable(
        file.name, 0,
        "the key " + printable(keys.twice()->substr(0, kMostKeyBytes)) + " is there twice");
  } catch (const json::parse_error& error) {
    const bool at_end = error.byte > file.text.size();
    return unreadable(file.name,
                      line_at(file.text, error.byte - std::min<std::size_t>(error.byte, 1)),
                      at_end ? "no JSON: it ends too early" : "no JSON from here on");
  } catch (const json::exception&) {
    return unreadable(file.name, 0, "a number in it is out of range");
  }
}

std::string JsonPath::text() const {
  if (before == nullptr) return "";
  std::string all = before->text();
  if (key.empty()) return all.append("[").append(std::to_string(index)).append("]");
  return all.append(all.empty() ? "" : ".").append(printable(key.substr(0, kMostKeyBytes)));
}

}  // namespace paceline::topology
