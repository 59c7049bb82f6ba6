// Splits the world until that fails, and prints why and how long the last split took.
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include <paceline/communicator.h>

#include "comm/base/clock.h"

int main() {
  using namespace paceline;
  Communicator world = Communicator::init().value();
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
