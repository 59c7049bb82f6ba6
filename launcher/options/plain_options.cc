#include "launcher/options/plain_options.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "launcher/options/nearest.h"
#include "launcher/options/option_values.h"

namespace paceline::launcher {
namespace {

Status unknown(const PlainCommand& command, const std::string& name) {
  std::string text = std::string("'").append(name).append("' is ");
  if (!name.starts_with('-'))
    return usage_error(text.append("not an option; ").append(command.hint));
  std::vector<std::string> names{"--help"};
  for (const PlainOption& option : command.options) names.emplace_back(option.name);
  text.append("not an option of paceline ").append(command.name);
  return usage_error(text.append(did_you_mean(name, names)));
}

}  // namespace

Result<std::vector<GivenOption>> given_options(const PlainCommand& command,
                                               std::span<const std::string> arguments) {
  std::vector<GivenOption> given;
  for (std::size_t at = 0; at < arguments.size(); ++at) {
    const std::string& word = arguments[at];
    const std::size_t equals = word.starts_with('-') ? word.find('=') : word.npos;
    GivenOption option{.name = word.substr(0, equals), .value = {}};
    const auto found = std::ranges::find(command.options, option.name, &PlainOption::name);
    if (found == command.options.end()) return unknown(command, option.name);
    if (!found->takes_value && equals != word.npos)
      return usage_error(std::string("option ").append(option.name).append(" takes no value"));
    if (equals != word.npos) {
      option.value = word.substr(equals + 1);
    } else if (found->takes_value && at + 1 < arguments.size()) {
      option.value = arguments[++at];
    }
    if (found->takes_value && option.value.empty())
      return usage_error(std::string("option ").append(option.name).append(" needs a value"));
    given.push_back(std::move(option));
  }
  return given;
}

}  // namespace paceline::launcher
