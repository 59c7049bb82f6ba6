#include "launcher/cli/command.h"

#include <algorithm>
#include <cstdio>

#include "launcher/system/exit_status.h"

namespace paceline::launcher {

int complain(const std::string& text) {
  std::fprintf(stderr, "paceline: %s\n", text.c_str());
  return kExitLauncher;
}

bool asks_for_help(std::span<const std::string> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const std::string& word) { return word == "--help" || word == "-h"; });
}

}  // namespace paceline::launcher
