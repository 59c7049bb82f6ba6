// What --map-by, --rank-by and --bind-to say.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/placement/rules/mapping.h"

namespace paceline::topology {
namespace {

constexpr int kMostCpusPerRank = 65536;
constexpr int kMostRanksPerUnit = 1 << 20;

struct Word {
  std::string_view text;
  Unit unit;
};

// Each option takes a part of it. Open MPI ranks by board as by node, and binds to neither.
constexpr std::array kWords{
    Word{"none", Unit::kNode},  Word{"board", Unit::kNode},      Word{"slot", Unit::kSlot},
    Word{"node", Unit::kNode},  Word{"package", Unit::kPackage}, Word{"socket", Unit::kPackage},
    Word{"numa", Unit::kNuma},  Word{"l3cache", Unit::kL3},      Word{"l2cache", Unit::kL2},
    Word{"l1cache", Unit::kL1}, Word{"core", Unit::kCore},       Word{"hwthread", Unit::kHwthread},
};
constexpr std::span kHardware = std::span(kWords).subspan(4);
constexpr std::span kMapped = std::span(kWords).subspan(2);
constexpr std::span kRanked = std::span(kWords).subspan(1);

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return lowered;
}

// One option's text: its name, for errors, and its words.
struct Option {
  std::string name;
  std::string text;
  std::vector<std::string> words;  // the first may be empty: ":PE=2"
};

Option split(const std::string& name, const std::string& text) {
  Option option{.name = name, .text = text, .words = {""}};
  for (const char letter : lower(text)) {
    if (letter == ':' || letter == ',')
      option.words.emplace_back();
    else
      option.words.back() += letter;
  }
  return option;
}

std::string quoted(const std::string& text) {
  return std::string("'").append(printable(text)).append("'");
}

Status wrong(const Option& option, const std::string& why) {
  return {Code::kInvalidArgument, Scope::kOperation,
          option.name + " " + quoted(option.text) + ": " + why};
}

std::string there_are(const std::vector<std::string>& words) {
  return "known are " + list_text(words);
}

std::string there_are(std::span<const Word> words, const std::vector<std::string>& others) {
  std::vector<std::string> all;
  for (const Word& word : words) all.emplace_back(word.text);
  all.insert(all.end(), others.begin(), others.end());
  return there_are(all);
}

const Word* find(std::span<const Word> words, const std::string& text) {
  const auto found = std::ranges::find(words, text, &Word::text);
  return found == words.end() ? nullptr : &*found;
}

// Words of other launchers whose place something else takes.
std::string instead_of(const std::string& word) {
  if (word == "dist" || word == "distance")
    return "placement by cost already uses the distance from devices; leave out --map-by";
  if (word == "seq" || word == "sequential" || word == "rankfile")
    return "use --plan FILE to place each rank";
  return "";
}

Status read_modifier(const Option& option, const std::string& word, MappingRules& rules) {
  if (word.starts_with("pe=")) {
    const auto count = parse_number<int>(std::string_view(word).substr(3));
    if (!count || *count < 1 || *count > kMostCpusPerRank)
      return wrong(option, "n of PE=n must be a number of CPUs from 1 to " +
                               std::to_string(kMostCpusPerRank));
    rules.cpus_per_rank = *count;
  } else if (word == "span") {
    rules.spans_hosts = true;
  } else if (word == "oversubscribe") {
    rules.may_oversubscribe = true;
  } else if (word == "nooversubscribe") {
    rules.may_oversubscribe = false;
  } else {
    return wrong(option, quoted(word) + " is not a modifier here; " +
                             there_are({"PE=n", "SPAN", "OVERSUBSCRIBE", "NOOVERSUBSCRIBE"}));
  }
  return {};
}

// Reads "ppr:N:unit"; how many words that were.
Result<std::size_t> read_ppr(const Option& option, MappingRules& rules) {
  if (option.words.size() < 3) return wrong(option, "write ppr:N:unit, as in ppr:2:numa");
  const auto count = parse_number<int>(option.words[1]);
  if (!count || *count < 1 || *count > kMostRanksPerUnit)
    return wrong(option, quoted(option.words[1]) + " is not a number of ranks from 1 to " +
                             std::to_string(kMostRanksPerUnit));
  const Word* const unit = find(kMapped, option.words[2]);
  if (unit == nullptr || unit->unit == Unit::kSlot)
    return wrong(option,
                 quoted(option.words[2]) + " is not a unit; " + there_are(kMapped.subspan(1), {}));
  if (option.words.size() > 3 && parse_number<int>(option.words[3]))
    return wrong(option, "ppr takes one kind of unit, not a list");
  rules.map_by = unit->unit;
  rules.ranks_per_unit = *count;
  return std::size_t{3};
}

Result<std::size_t> read_mapped(const Option& option, MappingRules& rules) {
  const std::string& word = option.words.front();
  if (word.empty()) return std::size_t{1};
  if (word == "ppr") return read_ppr(option, rules);
  if (const std::string instead = instead_of(word); !instead.empty()) return wrong(option, instead);
  const Word* const unit = find(kMapped, word);
  if (unit == nullptr)
    return wrong(option,
                 quoted(word) + " is not a unit to map by; " + there_are(kMapped, {"ppr:N:unit"}));
  rules.map_by = unit->unit;
  rules.ranks_per_unit = 0;
  return std::size_t{1};
}

}  // namespace

Status parse_map_by(const std::string& text, MappingRules& rules) {
  const Option option = split("--map-by", text);
  MappingRules read = rules;
  PACELINE_TRY_ASSIGN(std::size_t next, read_mapped(option, read));
  const auto has = [&](std::string_view word) {
    return std::ranges::find(option.words, word) != option.words.end();
  };
  if (has("oversubscribe") && has("nooversubscribe"))
    return wrong(option, "OVERSUBSCRIBE and NOOVERSUBSCRIBE exclude each other");
  if (option.words.size() == 1 && option.words.front().empty())
    return wrong(option, "the value is empty; " + there_are(kMapped, {"ppr:N:unit"}));
  for (; next < option.words.size(); ++next)
    PACELINE_TRY(read_modifier(option, option.words[next], read));
  // As it is in Open MPI 4.1.
  const bool needs_unit = read.spans_hosts || read.cpus_per_rank != rules.cpus_per_rank;
  if (needs_unit && !read.map_by) read.map_by = Unit::kPackage;
  rules = read;
  return {};
}

// Open MPI 5 says fill and span without a unit: that which ranks are mapped by.
Status parse_rank_by(const std::string& text, MappingRules& rules) {
  const Option option = split("--rank-by", text);
  MappingRules read = rules;
  read.rank_order = RankOrder::kCycle;
  read.rank_by.reset();
  for (std::size_t i = 0; i < option.words.size(); ++i) {
    const std::string& word = option.words[i];
    const Word* const unit = i == 0 ? find(kRanked, word) : nullptr;
    if (unit != nullptr)
      read.rank_by = unit->unit;
    else if (word == "span")
      read.rank_order = RankOrder::kSpan;
    else if (word == "fill")
      read.rank_order = RankOrder::kFill;
    else if (i == 0)
      return wrong(option, quoted(word) + " is not a unit to rank by; " +
                               there_are(kMapped, {"fill", "span"}));
    else
      return wrong(option,
                   quoted(word) + " is not a modifier here; " + there_are({"span", "fill"}));
  }
  rules = read;
  return {};
}

Status parse_bind_to(const std::string& text, MappingRules& rules) {
  const Option option = split("--bind-to", text);
  MappingRules read = rules;
  const std::string& word = option.words.front();
  const bool is_unbound = word == "none" || word == "board";
  const Word* const unit = is_unbound ? &kWords.front() : find(kHardware, word);
  if (word == "cpu-list" || word == "cpulist")
    return wrong(option, "use --plan FILE to choose the CPUs of each rank");
  if (unit == nullptr && (!word.empty() || option.words.size() == 1))
    return wrong(option, quoted(word) + " is not a unit to bind to; " +
                             there_are(kHardware, {"board", "none"}));
  if (unit != nullptr) read.bind_to = unit->unit;
  for (const std::string& modifier : std::span(option.words).subspan(1)) {
    if (modifier == "overload-allowed")
      read.may_overload = true;
    else if (modifier == "no-overload")
      read.may_overload = false;
    else if (modifier != "if-supported")
      return wrong(option, quoted(modifier) + " is not a modifier here; " +
                               there_are({"overload-allowed", "no-overload", "if-supported"}));
  }
  rules = read;
  return {};
}

}  // namespace paceline::topology
