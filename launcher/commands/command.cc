#include "launcher/commands/command.h"

#include <cstdio>

#include "launcher/head/exit_code.h"

namespace paceline::launcher {

int complain(const std::string& text) {
  std::fprintf(stderr, "paceline: %s\n", text.c_str());
  return kExitLauncher;
}

}  // namespace paceline::launcher
