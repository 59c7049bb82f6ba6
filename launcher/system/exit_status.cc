#include "launcher/system/exit_status.h"

#include <string.h>
#include <sys/wait.h>

namespace paceline::launcher {

bool succeeded(int wait_status) { return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0; }

int exit_code_of(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

std::string describe(int wait_status) {
  if (WIFEXITED(wait_status)) return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* meaning = ::sigdescr_np(signal);
  return "was killed by signal " + std::to_string(signal) + " (" + (meaning ? meaning : "unknown") +
         (WCOREDUMP(wait_status) ? ", core dumped)" : ")");
}

}  // namespace paceline::launcher
