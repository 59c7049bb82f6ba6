#include "tests/peers/peer_main.h"

#include <cstdio>

#include <signal.h>
#include <sys/prctl.h>

#include "comm/base/try.h"

namespace paceline::peers {
namespace {

Status follow(std::span<const std::string> words,
              FunctionRef<Status(const probe::Orders&)> measure) {
  PACELINE_TRY_ASSIGN(const probe::Orders orders, probe::parse_orders(words));
  return measure(orders);
}

}  // namespace

int peer_main(int argc, char** argv, FunctionRef<Status(const probe::Orders&)> measure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    std::puts("A rank of another library, measured by `paceline bench OPERATION --against NAME`.");
    return 0;
  }
  const Status status = follow(words, measure);
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", argv[0], status.to_string().c_str());
  return 1;
}

}  // namespace paceline::peers
