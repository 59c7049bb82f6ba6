#include "launcher/system/complain.h"

#include <cstdio>

#include "launcher/system/exit_status.h"

namespace paceline::launcher {

int complain(const std::string& text) {
  std::fprintf(stderr, "paceline: %s\n", text.c_str());
  return kExitLauncher;
}

}  // namespace paceline::launcher
