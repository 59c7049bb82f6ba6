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
      return unreadable(
          file.name, line_at(file.text, i),
          "values are nested deeper than " + std::to_string(kMostJsonDepth) + " levels");
  }
  return {};
}

// Stops at the first key that an object has twice: the parser would keep the last. An interface of
// nlohmann's; its callback of parse() looks at a list anew for each object in it.
class KeyCheck final : public nlohmann::json_sax<json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(json::number_integer_t) override { return true; }
  bool number_unsigned(json::number_unsigned_t) override { return true; }
  bool number_float(json::number_float_t, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override { return keys_.emplace_back(), true; }
  bool end_object() override { return keys_.pop_back(), true; }
  bool key(std::string& key) override {
    if (!keys_.back().insert(key).second) twice_ = key;
    return !twice_;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
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
    json document = json::parse(file.text);
    KeyCheck keys;
    json::sax_parse(file.text, &keys);
    if (!keys.twice()) return document;
    return unreadable(file.name, 0,
                      "key " + printable(keys.twice()->substr(0, kMostKeyBytes)) + " occurs twice");
  } catch (const json::parse_error& error) {
    const bool at_end = error.byte > file.text.size();
    return unreadable(file.name,
                      line_at(file.text, error.byte - std::min<std::size_t>(error.byte, 1)),
                      at_end ? "invalid JSON: unexpected end" : "invalid JSON from here on");
  } catch (const json::exception&) {
    return unreadable(file.name, 0, "a number is out of range");
  }
}

std::string JsonPath::text() const {
  if (before == nullptr) return "";
  std::string all = before->text();
  if (key.empty()) return all.append("[").append(std::to_string(index)).append("]");
  return all.append(all.empty() ? "" : ".").append(printable(key.substr(0, kMostKeyBytes)));
}

}  // namespace paceline::topology
