// Splits the world 1000 times, or until that fails; prints why, and how long the last split took.
// With the argument "full" this process can open no descriptor for its first split.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/resource.h>

#include <paceline/communicator.h>

#include "comm/base/clock.h"

int main(int argc, char** argv) {
  using namespace paceline;
  Communicator world = Communicator::init().value();
  if (argc > 1 && std::string_view(argv[1]) == "full") {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{.rlim_cur = 3, .rlim_max = limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  const SystemClock clock;
  std::vector<Communicator> parts;
  for (int i = 0; i < 1000; ++i) {
    const TimePoint begin = clock.now();
    Result<std::optional<Communicator>> made = world.split(0, world.rank());
    if (made.ok()) {
      parts.push_back(**std::move(made));
      // Over TCP its connections are made now.
      parts.back().barrier().value();
      continue;
    }
    const std::chrono::duration<double> took = clock.now() - begin;
    const Status status = made.status();
    std::printf("%d %s %.1f %s\n", world.rank(), std::string(name(status.code())).c_str(),
                took.count(), status.to_string().c_str());
    return 0;
  }
  std::printf("%d 1000 splits\n", world.rank());
}
