#include "launcher/options/command_words.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include "comm/base/try.h"
#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"
#include "launcher/options/peer_options.h"

namespace paceline::launcher {
namespace {

using Known = std::span<const KnownOption>;
using Words = std::span<const std::string>;

constexpr std::string_view kNextProgram = ":";
constexpr std::string_view kEndOfOptions = "--";

// A word that begins with a dash.
struct OptionWord {
  const KnownOption* option = nullptr;  // null: there is no such one
  std::string name;                     // as it was written
  std::optional<std::string> value;     // attached to it
};

template <class Condition>
const KnownOption* find(Known known, Condition condition) {
  const auto found = std::find_if(known.begin(), known.end(), condition);
  return found != known.end() ? &*found : nullptr;
}

const KnownOption* find_name(Known known, std::string_view name) {
  return find(known, [name](const KnownOption& option) { return option.name == name; });
}

const KnownOption* find_letter(Known known, char letter) {
  return find(known, [letter](const KnownOption& option) { return option.letter == letter; });
}

bool can_be_attached(const KnownOption& option, std::string_view value) {
  const bool number = value.find_first_of("0123456789-+") == 0;
  return option.takes_value && (number || !option.takes_number);
}

// -name means --name where there is one.
OptionWord read_option(Known known, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  std::optional<std::string> value;
  if (equals != std::string::npos) value = word.substr(equals + 1);
  const bool two_dashes = word.starts_with("--");
  const std::string_view bare = std::string_view(name).substr(two_dashes ? 2 : 1);
  const bool is_letter = !two_dashes && bare.size() == 1;
  const KnownOption* option = is_letter ? find_letter(known, bare[0]) : find_name(known, bare);
  if (option != nullptr || two_dashes || is_letter) return {option, name, value};
  option = find_letter(known, word[1]);
  const std::size_t end = word.starts_with("-np") ? 3 : 2;  // -np4
  if (option == nullptr || !can_be_attached(*option, word.substr(end)))
    return {nullptr, name, value};
  return {option, word.substr(0, end), word.substr(end)};
}

Status unknown(Known known, const std::string& word, const std::string& name) {
  std::vector<std::string> names;
  for (const KnownOption& option : known) names.push_back("--" + option.name);
  if (const auto instead = instead_of(name))
    return usage_error("'" + word + "' is not an option of paceline run; " + *instead);
  return usage_error("'" + word + "' is not an option of paceline run" + did_you_mean(name, names));
}

// Whether the word after an option can be its value.
bool is_value(Known known, const std::string& word) {
  const bool option = word.starts_with("--") && read_option(known, word).option != nullptr;
  return !option && word != kEndOfOptions && word != kNextProgram;
}

bool begins_program(const std::string& word) {
  return word == kEndOfOptions || word == kNextProgram || word.size() < 2 || word[0] != '-';
}

// Moves `at` behind the option and its value. `first`: these are the first program's words.
Result<std::string> take_option(Known known, Words words, std::size_t& at, bool first) {
  const std::string& word = words[at++];
  OptionWord read = read_option(known, word);
  if (read.option == nullptr) return unknown(known, word, read.name);
  const KnownOption& option = *read.option;
  if (!first && !option.per_program)
    return usage_error(
        "option " + read.name +
        " applies to the whole job, not to one program; write it before the first ':'");
  if (!option.takes_value && read.value)
    return usage_error("option " + read.name + " takes no value");
  if (!option.takes_value) return "--" + option.name;
  if (!read.value && at < words.size() && is_value(known, words[at])) read.value = words[at++];
  if (read.value.value_or("").empty()) return usage_error("option " + word + " needs a value");
  return "--" + option.name + "=" + *read.value;
}

Result<ProgramWords> take_program(Known known, Words words, std::size_t& at, bool first) {
  ProgramWords taken;
  while (at < words.size() && !begins_program(words[at])) {
    PACELINE_TRY_ASSIGN(std::string option, take_option(known, words, at, first));
    taken.options.push_back(std::move(option));
  }
  if (at < words.size() && words[at] == kEndOfOptions) ++at;
  while (at < words.size() && words[at] != kNextProgram) taken.program.push_back(words[at++]);
  return taken;
}

Status no_program(std::size_t place, bool several) {
  if (!several)
    return usage_error(
        "no program to run; write it after the options: paceline run -n 2 -- ./train");
  return usage_error(
      "program " + std::to_string(place) +
      " is missing; write a program on both sides of each ':', as in ./a : -n 2 ./b");
}

}  // namespace

Result<std::vector<ProgramWords>> sort_words(Known known, Words arguments, bool needs_program) {
  std::vector<ProgramWords> all;
  for (std::size_t at = 0;; ++at) {  // over the word between two programs
    PACELINE_TRY_ASSIGN(ProgramWords words, take_program(known, arguments, at, all.empty()));
    const bool several = !all.empty() || at < arguments.size();
    const bool has_program = !words.program.empty() && !words.program.front().empty();
    if (needs_program && !has_program) return no_program(all.size() + 1, several);
    all.push_back(std::move(words));
    if (at >= arguments.size()) return all;
  }
}

bool mentions(Known known, Words arguments, const std::string& name) {
  for (std::size_t at = 0; at < arguments.size() && !begins_program(arguments[at]);) {
    const Result<std::string> option = take_option(known, arguments, at, true);
    if (!option.ok()) return false;
    if (*option == "--" + name) return true;
  }
  return false;
}

}  // namespace paceline::launcher
