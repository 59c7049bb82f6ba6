#include "topology/read/json_value.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/named_text.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

constexpr std::size_t kMostShownBytes = 128;

Status check_there(const JsonValue& from) {
  return from.is_there() ? Status() : from.wrong("is missing");
}

template <class T, class Parse>
Status parse(const JsonValue& from, T& into, Parse parse_text, const char* reason) {
  std::string text;
  PACELINE_TRY(read_value(from, text));
  auto parsed = parse_text(text);
  if (!parsed) return from.wrong(in_quotes(text) + reason);
  into = std::move(*parsed);
  return {};
}

}  // namespace

std::size_t JsonValue::size() const {
  return is_there() && json_->is_structured() ? json_->size() : 0;
}

JsonValue JsonValue::operator/(std::string_view key) const& {
  const json* found = nullptr;
  if (is_there() && json_->is_object())
    if (const auto at = json_->find(std::string(key)); at != json_->end()) found = &*at;
  return {file_, found, path_ / key};
}

JsonValue JsonValue::operator/(std::size_t index) const& {
  return {file_, &(*json_)[index], path_ / index};
}

Status JsonValue::wrong(const std::string& reason) const {
  const std::string where = path_.text();
  return unreadable(*file_, 0,
                    where.empty() ? reason : std::string(where).append(": ").append(reason));
}

Status read_value(const JsonValue& from, std::string& into) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_string()) return from.wrong("must be a text");
  into = (*from).get_ref<const std::string&>();
  return {};
}

Status read_value(const JsonValue& from, bool& into) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_boolean()) return from.wrong("must be true or false");
  into = (*from).get<bool>();
  return {};
}

Status read_value(const JsonValue& from, std::uint64_t& into) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_number_integer()) return from.wrong("must be a whole number");
  if (!(*from).is_number_unsigned()) return from.wrong((*from).dump() + " is out of range");
  into = (*from).get<std::uint64_t>();
  return {};
}

Status read_value(const JsonValue& from, int& into) {
  std::uint64_t number = 0;
  PACELINE_TRY(read_value(from, number));
  if (number > std::uint64_t{std::numeric_limits<int>::max()})
    return from.wrong((*from).dump() + " is out of range");
  into = static_cast<int>(number);
  return {};
}

Status read_value(const JsonValue& from, double& into) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_number()) return from.wrong("must be a number");
  const auto number = (*from).get<double>();
  if (!std::isfinite(number) || number < 0)
    return from.wrong((*from).dump() + " is out of range: must be 0 or more");
  into = number;
  return {};
}

Status read_value(const JsonValue& from, CpuSet& into) {
  return parse(from, into, CpuSet::parse, " is not a list of CPUs");
}

Status read_value(const JsonValue& from, BusId& into) {
  return parse(from, into, parse_bus_id, " is not a PCI address");
}

Status check_keys(const JsonValue& from, std::span<const std::string_view> keys) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_object()) return from.wrong("must be an object");
  for (const auto& [key, value] : (*from).items()) {
    if (std::ranges::find(keys, key) != keys.end()) continue;
    const std::vector<std::string> all(keys.begin(), keys.end());
    return (from / std::string_view(key)).wrong("unknown key; known keys are " + list_text(all));
  }
  return {};
}

Status check_version(const JsonValue& document, std::string_view key, int version) {
  if (!(*document).is_object()) return document.wrong("must be an object");
  const JsonValue stated = document / key;
  PACELINE_TRY(check_there(stated));
  if (*stated == json(version)) return {};
  return stated.wrong("must be " + std::to_string(version) + ", the only one that is known");
}

Status check_list(const JsonValue& from, std::size_t most) {
  PACELINE_TRY(check_there(from));
  if (!(*from).is_array()) return from.wrong("must be a list");
  if (from.size() <= most) return {};
  return from.wrong("has " + std::to_string(from.size()) + " entries, max " + std::to_string(most));
}

Status read_name(const JsonValue& from, const Places& places, const std::string& what,
                 const std::string& where, int& into) {
  std::string name;
  PACELINE_TRY(read_value(from, name));
  if (const auto found = places.find(name); found != places.end()) {
    into = found->second;
    return {};
  }
  std::vector<std::string> known;
  for (const auto& [other, place] : places) known.push_back(shown(other));
  std::string reason = "there is no ";
  reason.append(what).append(" ").append(in_quotes(name)).append(where);
  if (!known.empty()) reason.append("; known are: ").append(list_text(known, kMostNamed));
  return from.wrong(reason);
}

std::string shown(std::string_view text) {
  const bool is_long = text.size() > kMostShownBytes;
  return printable(text.substr(0, kMostShownBytes)).append(is_long ? "…" : "");
}

std::string in_quotes(std::string_view text) {
  return std::string("\"").append(shown(text)).append("\"");
}

}  // namespace paceline::topology
