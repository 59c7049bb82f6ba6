#include "topology/read/model_json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/model/model_fields.h"
#include "topology/read/json_text.h"
#include "topology/read/json_value.h"
#include "topology/read/model_places.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

constexpr std::string_view kVersionKey = "version";

// How many of what the list may have.
template <class T>
constexpr std::size_t kMost = 65536;
template <>
constexpr std::size_t kMost<Gpu> = 1024;
template <>
constexpr std::size_t kMost<Nic> = 4096;
template <>
constexpr std::size_t kMost<Package> = 1024;
template <>
constexpr std::size_t kMost<NumaNode> = 1024;
template <>
constexpr std::size_t kMost<GpuLink> = std::size_t{1} << 20;
template <>
constexpr std::size_t kMost<StatedPath> = std::size_t{1} << 20;

template <class T>
struct IsFact : std::false_type {};
template <class T>
struct IsFact<Fact<T>> : std::true_type {};

// Each read() takes one type off the document, or says what is wrong with what is there.
class ModelReader {
 public:
  explicit ModelReader(std::size_t sources) : sources_(sources) {}

  // PCI IDs: 0x10de.
  Status read(const JsonValue& from, std::uint16_t& into) const {
    std::string text;
    PACELINE_TRY(read_value(from, text));
    const char* const end = text.data() + text.size();
    const bool begins = text.starts_with("0x") && text.size() == 6;
    const auto [stop, error] = std::from_chars(text.data() + (begins ? 2 : 0), end, into, 16);
    if (begins && error == std::errc() && stop == end) return {};
    return from.wrong(in_quotes(text) + " is not a PCI ID like 0x10de");
  }

  template <class T>
  requires requires(const JsonValue& from, T& into) { read_value(from, into); }
  Status read(const JsonValue& from, T& into) const { return read_value(from, into); }

  template <HasWords T>
  Status read(const JsonValue& from, T& into) const {
    std::string text;
    PACELINE_TRY(read_value(from, text));
    const auto& words = Words<T>::kAll;
    const auto found = std::ranges::find(words, text);
    into = static_cast<T>(found - words.begin());
    if (found != words.end()) return {};
    const std::vector<std::string> all(words.begin(), words.end());
    return from.wrong(in_quotes(text) + " is not one of " + list_text(all));
  }

  template <class T>
  Status read(const JsonValue& from, std::vector<T>& into) const {
    PACELINE_TRY(check_list(from, kMost<T>));
    into.resize(from.size());
    for (std::size_t i = 0; i < into.size(); ++i) PACELINE_TRY(read(from / i, into[i]));
    return {};
  }

  template <class T>
  Status read(const JsonValue& from, Fact<T>& into) const {
    PACELINE_TRY(check_keys(from, std::array<std::string_view, 2>{"value", "from"}));
    PACELINE_TRY(read(from / "value", into.value.emplace()));
    return read_source(from, into.source);
  }

  template <HasFields T>
  Status read(const JsonValue& from, T& into) const {
    PACELINE_TRY(check_keys(from, keys_of<T>()));
    Status status;
    std::apply(
        [&](const auto&... field) {
          (void)((status = read_field(from, field, into), status.ok()) && ...);
        },
        fields_of<T>());
    return status;
  }

 private:
  // Those of a machine have its version beside them, which is checked before all else.
  template <class T>
  static auto keys_of() {
    return std::apply(
        [](const auto&... field) {
          if constexpr (std::same_as<T, HostModel>)
            return std::array{kVersionKey, field.key...};
          else
            return std::array{field.key...};
        },
        fields_of<T>());
  }

  template <class T, class Member>
  Status read_field(const JsonValue& from, const Field<T, Member>& field, T& into) const {
    if constexpr (IsFact<Member>::value)
      if (!(from / field.key).is_there()) return {};
    if constexpr (std::same_as<T, Warning> && std::same_as<Member, int>)
      return read_source(from, into.*field.member);
    if constexpr (std::same_as<Member, int>)
      if (field.is_place) return read_place(from / field.key, into.*field.member);
    return read(from / field.key, into.*field.member);
  }

  static Status read_place(const JsonValue& from, int& into) {
    into = kNone;
    return from.is_null() ? Status() : read_value(from, into);
  }

  Status read_source(const JsonValue& from, SourceIndex& into) const {
    const JsonValue source = from / "from";
    PACELINE_TRY(read_place(source, into));
    if (into == kNobody || static_cast<std::size_t>(into) < sources_) return {};
    return source.wrong("there is no source " + std::to_string(into));
  }

  const std::size_t sources_;
};

// The file already contains some of the warnings that finish() adds: removes the repeated ones.
void drop_repeated_warnings(std::vector<Warning>& warnings, std::size_t told) {
  const std::vector<Warning> first(warnings.begin(),
                                   warnings.begin() + static_cast<std::ptrdiff_t>(told));
  const auto is_told = [&](const Warning& warning) {
    return std::ranges::find(first, warning.text, &Warning::text) != first.end();
  };
  const auto found = warnings.begin() + static_cast<std::ptrdiff_t>(told);
  warnings.erase(std::remove_if(found, warnings.end(), is_told), warnings.end());
}

}  // namespace

Result<HostModel> read_model_value(const JsonValue& document) {
  PACELINE_TRY(check_version(document, kVersionKey, kModelVersion));
  HostModel host;
  PACELINE_TRY(ModelReader((document / "sources").size()).read(document, host));
  PACELINE_TRY(check_places(document, host));
  const std::size_t told = host.warnings.size();
  auto finished = finish(std::move(host), kNobody);
  if (!finished.ok()) return document.wrong(finished.status().text());
  drop_repeated_warnings(finished->warnings, told);
  return finished;
}

Result<HostModel> read_model_json(const NamedText& file) {
  PACELINE_TRY_ASSIGN(const json document, parse_json(file));
  return read_model_value(JsonValue(file.name, document));
}

}  // namespace paceline::topology
