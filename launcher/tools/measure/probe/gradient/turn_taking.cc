#include "launcher/tools/measure/probe/gradient/turn_taking.h"

#include <cstdio>

#include <unistd.h>

#include "comm/base/try.h"
#include "launcher/tools/measure/probe/gradient/await_line.h"
#include "launcher/tools/measure/probe/gradient/gradient_rows.h"

namespace paceline::probe {

void TurnTaking::say(const std::string& line) const {
  if (world_.rank() != 0) return;
  std::puts(line.c_str());
  std::fflush(stdout);
}

Status TurnTaking::pass_and_await() const {
  say(kPassedLine);
  if (world_.rank() == 0) PACELINE_TRY(await_line(STDIN_FILENO, patience_));
  return world_.barrier();
}

}  // namespace paceline::probe
