#include "launcher/cli/command.h"

#include <algorithm>

namespace paceline::launcher {

bool asks_for_help(std::span<const std::string> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace paceline::launcher
