#include "topology/read/model_json.h"

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/model/model_fields.h"
#include "topology/read/json_text.h"
#include "topology/read/model_places.h"

namespace paceline::topology {
namespace {

using nlohmann::json;

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
class Reader {
 public:
  Reader(const std::string& file, std::size_t sources) : file_(file), sources_(sources) {}

  Status read(const json& from, const JsonPath& at, std::string& into) const {
    if (!from.is_string()) return wrong(at, "it should be a text");
    into = from.get_ref<const std::string&>();
    return {};
  }

  Status read(const json& from, const JsonPath& at, bool& into) const {
    if (!from.is_boolean()) return wrong(at, "it should be true or false");
    into = from.get<bool>();
    return {};
  }

  Status read(const json& from, const JsonPath& at, std::uint64_t& into) const {
    if (!from.is_number_integer()) return wrong(at, "it should be a whole number");
    if (!from.is_number_unsigned()) return wrong(at, from.dump() + " is out of range");
    into = from.get<std::uint64_t>();
    return {};
  }

  Status read(const json& from, const JsonPath& at, int& into) const {
    std::uint64_t number = 0;
    PACELINE_TRY(read(from, at, number));
    if (number > std::uint64_t{std::numeric_limits<int>::max()})
      return wrong(at, from.dump() + " is out of range");
    into = static_cast<int>(number);
    return {};
  }

  // PCI IDs: 0x10de.
  Status read(const json& from, const JsonPath& at, std::uint16_t& into) const {
    std::string text;
    PACELINE_TRY(read(from, at, text));
    const char* const end = text.data() + text.size();
    const bool begins = text.starts_with("0x") && text.size() == 6;
    const auto [stop, error] = std::from_chars(text.data() + (begins ? 2 : 0), end, into, 16);
    if (begins && error == std::errc() && stop == end) return {};
    return wrong(at, quoted(text) + " is no PCI ID like 0x10de");
  }

  Status read(const json& from, const JsonPath& at, CpuSet& into) const {
    return parse(from, at, into, CpuSet::parse, " is no list of CPUs");
  }
  Status read(const json& from, const JsonPath& at, BusId& into) const {
    return parse(from, at, into, parse_bus_id, " is no PCI address");
  }

  template <HasWords T>
  Status read(const json& from, const JsonPath& at, T& into) const {
    std::string text;
    PACELINE_TRY(read(from, at, text));
    const auto& words = Words<T>::kAll;
    const auto found = std::ranges::find(words, text);
    into = static_cast<T>(found - words.begin());
    if (found != words.end()) return {};
    const std::vector<std::string> all(words.begin(), words.end());
    return wrong(at, quoted(text) + " is none of " + list_text(all));
  }

  template <class T>
  Status read(const json& from, const JsonPath& at, std::vector<T>& into) const {
    if (!from.is_array()) return wrong(at, "it should be a list");
    if (from.size() > kMost<T>)
      return wrong(at, "it has " + std::to_string(from.size()) + " entries, at most " +
                           std::to_string(kMost<T>) + " are read");
    into.resize(from.size());
    for (std::size_t i = 0; i < into.size(); ++i) PACELINE_TRY(read(from[i], at / i, into[i]));
    return {};
  }

  template <class T>
  Status read(const json& from, const JsonPath& at, Fact<T>& into) const {
    PACELINE_TRY(check_keys(from, at, std::array<std::string_view, 2>{"value", "from"}));
    PACELINE_TRY(read_member(from, at, "value", into.value.emplace()));
    return read_source(from, at, into.source);
  }

  template <HasFields T>
  Status read(const json& from, const JsonPath& at, T& into) const {
    const auto keys =
        std::apply([](const auto&... field) { return std::array{field.key...}; }, fields_of<T>());
    PACELINE_TRY(check_keys(from, at, keys));
    Status status;
    std::apply(
        [&](const auto&... field) {
          (void)((status = read_field(from, at, field, into), status.ok()) && ...);
        },
        fields_of<T>());
    return status;
  }

  Status wrong(const JsonPath& at, const std::string& reason) const {
    const std::string where = at.text();
    return unreadable(file_, 0,
                      where.empty() ? reason : std::string(where).append(": ").append(reason));
  }

 private:
  static std::string quoted(const std::string& text) {
    return std::string("\"").append(printable(text)).append("\"");
  }

  template <class T, class Parse>
  Status parse(const json& from, const JsonPath& at, T& into, Parse parse_text,
               const char* reason) const {
    std::string text;
    PACELINE_TRY(read(from, at, text));
    auto parsed = parse_text(text);
    if (!parsed) return wrong(at, quoted(text) + reason);
    into = std::move(*parsed);
    return {};
  }

  // A key that nobody knows is a mistake in one that somebody does.
  Status check_keys(const json& from, const JsonPath& at,
                    std::span<const std::string_view> keys) const {
    if (!from.is_object()) return wrong(at, "it should be an object");
    for (const auto& [key, value] : from.items())
      if (std::ranges::find(keys, key) == keys.end())
        return wrong(at / std::string_view(key), "there is no such key");
    return {};
  }

  template <class T>
  Status read_member(const json& from, const JsonPath& at, std::string_view key, T& into) const {
    const auto found = from.find(std::string(key));
    if (found == from.end()) return wrong(at / key, "it is missing");
    return read(*found, at / key, into);
  }

  template <class T, class Member>
  Status read_field(const json& from, const JsonPath& at, const Field<T, Member>& field,
                    T& into) const {
    if constexpr (IsFact<Member>::value)
      if (!from.contains(std::string(field.key))) return {};
    if constexpr (std::same_as<T, Doubt> && std::same_as<Member, int>)
      return read_source(from, at, into.*field.member);
    if constexpr (std::same_as<Member, int>)
      if (field.is_place) return read_place(from, at, field.key, into.*field.member);
    return read_member(from, at, field.key, into.*field.member);
  }

  Status read_place(const json& from, const JsonPath& at, std::string_view key, int& into) const {
    into = kNone;
    const auto found = from.find(std::string(key));
    if (found != from.end() && found->is_null()) return {};
    return read_member(from, at, key, into);
  }

  Status read_source(const json& from, const JsonPath& at, SourceIndex& into) const {
    PACELINE_TRY(read_place(from, at, "from", into));
    if (into == kNobody || static_cast<std::size_t>(into) < sources_) return {};
    return wrong(at / "from", "there is no source " + std::to_string(into));
  }

  const std::string& file_;
  const std::size_t sources_;
};

Status check_version(const json& document, const Reader& reader) {
  const JsonPath top;
  if (!document.is_object()) return reader.wrong(top, "it should be an object");
  const auto version = document.find("version");
  if (version == document.end()) return reader.wrong(top / "version", "it is missing");
  if (*version == kModelVersion) return {};
  return reader.wrong(top / "version", "it should be " + std::to_string(kModelVersion) +
                                           ", the only one that is known");
}

// Those doubts that finishing finds again are told already.
void drop_repeated_doubts(std::vector<Doubt>& doubts, std::size_t told) {
  const std::vector<Doubt> first(doubts.begin(),
                                 doubts.begin() + static_cast<std::ptrdiff_t>(told));
  const auto is_told = [&](const Doubt& doubt) {
    return std::ranges::find(first, doubt.text, &Doubt::text) != first.end();
  };
  const auto found = doubts.begin() + static_cast<std::ptrdiff_t>(told);
  doubts.erase(std::remove_if(found, doubts.end(), is_told), doubts.end());
}

}  // namespace

Result<HostModel> read_model_json(const NamedText& file) {
  PACELINE_TRY_ASSIGN(json document, parse_json(file));
  const std::size_t sources =
      document.is_object() && document.contains("sources") ? document["sources"].size() : 0;
  const Reader reader(file.name, sources);
  PACELINE_TRY(check_version(document, reader));
  document.erase("version");
  HostModel host;
  PACELINE_TRY(reader.read(document, JsonPath(), host));
  PACELINE_TRY(check_places(file.name, host));
  const std::size_t told = host.doubts.size();
  auto finished = finish(std::move(host), kNobody);
  if (!finished.ok()) return unreadable(file.name, 0, finished.status().text());
  drop_repeated_doubts(finished->doubts, told);
  return finished;
}

}  // namespace paceline::topology
