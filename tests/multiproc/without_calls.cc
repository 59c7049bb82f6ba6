// without_calls NAME[,NAME…] PROGRAM [ARGUMENTS…]: executes a program in which these system calls
// fail with ENOSYS.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

#include "tests/harness/refused_calls.h"

namespace {

struct Call {
  const char* name;
  int number;
};
constexpr Call kCalls[] = {{"clone3", SYS_clone3},
                           {"close_range", SYS_close_range},
                           {"epoll_pwait2", SYS_epoll_pwait2},
                           {"membarrier", SYS_membarrier},
                           {"memfd_create", SYS_memfd_create},
                           {"pidfd_open", SYS_pidfd_open},
                           {"pidfd_send_signal", SYS_pidfd_send_signal}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string names = std::string(",") + argv[1] + ",";
  for (const Call& call : kCalls) {
    if (names.find(std::string(",") + call.name + ",") == std::string::npos) continue;
    if (!paceline::testing::refuse_system_calls({call.number}, ENOSYS)) {
      std::fprintf(stderr, "cannot refuse %s: %s\n", call.name, std::strerror(errno));
      return 3;
    }
  }
  ::execvp(argv[2], argv + 2);
  return 1;
}
