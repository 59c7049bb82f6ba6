// A value of a JSON document, with the place that errors about it name.
//
//   const JsonValue ranks = document / "ranks";
//   for (std::size_t i = 0; i < ranks.size(); ++i) {
//     const JsonValue one = ranks / i;
//     PACELINE_TRY(read_value(one / "cpus", cpus));   // "plan.json: ranks[3].cpus: is missing"
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <paceline/status.h>

#include "comm/base/assert.h"
#include "comm/base/cpu_set.h"
#include "topology/model/bus_id.h"
#include "topology/read/json_text.h"

namespace paceline::topology {

/// Borrowed: the file's name, the document, and the value that it was taken from live longer.
class JsonValue {
 public:
  JsonValue(const std::string& file, const nlohmann::json& document)
      : file_(&file), json_(&document) {}

  bool is_there() const { return json_ != nullptr; }
  bool is_text() const { return is_there() && json_->is_string(); }
  bool is_null() const { return is_there() && json_->is_null(); }
  /// Of a value that is there.
  const nlohmann::json& operator*() const {
    PACELINE_ASSERT(is_there());
    return *json_;
  }
  /// How many values a list or an object holds; of anything else 0.
  std::size_t size() const;

  /// Not there where this is no object with the key.
  JsonValue operator/(std::string_view key) const&;
  /// Of a list that is so long.
  JsonValue operator/(std::size_t index) const&;
  // What is taken from it would refer to what is gone.
  JsonValue operator/(std::string_view key) const&& = delete;
  JsonValue operator/(std::size_t index) const&& = delete;

  /// "FILE: ranks[3].cpus: reason".
  Status wrong(const std::string& reason) const;
  const std::string& file() const { return *file_; }
  const JsonPath& path() const { return path_; }

 private:
  JsonValue(const std::string* file, const nlohmann::json* json, JsonPath path)
      : file_(file), json_(json), path_(path) {}

  const std::string* file_;
  const nlohmann::json* json_;  // none: it is not there
  JsonPath path_;
};

/// Each takes one type; an error says what else is there, or that nothing is.
Status read_value(const JsonValue& from, std::string& into);
Status read_value(const JsonValue& from, bool& into);
Status read_value(const JsonValue& from, std::uint64_t& into);
Status read_value(const JsonValue& from, int& into);     ///< 0 or more
Status read_value(const JsonValue& from, double& into);  ///< 0 or more
Status read_value(const JsonValue& from, CpuSet& into);
Status read_value(const JsonValue& from, BusId& into);

/// Leaves `into` as it is where nothing is there.
template <class T>
Status read_if_there(const JsonValue& from, T& into) {
  return from.is_there() ? read_value(from, into) : Status();
}

/// It is an object with these keys only: one that nobody knows is a mistake in one that somebody
/// does.
Status check_keys(const JsonValue& from, std::span<const std::string_view> keys);
/// It is an object that has `version` at `key`.
Status check_version(const JsonValue& document, std::string_view key, int version);
/// It is a list of at most `most`.
Status check_list(const JsonValue& from, std::size_t most);

inline constexpr std::size_t kMostNamed = 8;  ///< in an error that lists what there is

/// What there is, by name.
using Places = std::map<std::string, int>;

/// Reads a text that names one of `places`. An error lists some of the known names: `there is no
/// GPU "cuda9" on host "a"; known are: cuda0`. Here `what` is `GPU`, the text before the name, and
/// `where` is the text after it.
Status read_name(const JsonValue& from, const Places& places, const std::string& what,
                 const std::string& where, int& into);

/// Untrusted text, shortened, and without characters that could disturb a terminal.
std::string shown(std::string_view text);
std::string in_quotes(std::string_view text);

}  // namespace paceline::topology
