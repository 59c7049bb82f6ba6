// A rank that times all-reduces: timed_rank REPETITIONS BYTES…. For each size rank 0 prints
//   BYTES SECONDS SECONDS …
// of each repetition, from a barrier to the end of the operation. Every sum is checked.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <vector>

#include <paceline/communicator.h>

#include "comm/base/clock.h"

int main(int argc, char** argv) {
  using namespace paceline;
  if (argc < 3) {
    std::fputs("usage: timed_rank REPETITIONS BYTES…\n", stderr);
    return 2;
  }
  const int repetitions = std::atoi(argv[1]);
  const SystemClock clock;
  Communicator world = Communicator::init().value();
  const auto ranks = static_cast<float>(world.size());
  for (int argument = 2; argument < argc; ++argument) {
    const std::size_t bytes = std::strtoull(argv[argument], nullptr, 10);
    std::vector<float> values(std::max<std::size_t>(bytes / sizeof(float), 1));
    if (world.rank() == 0) std::printf("%zu", bytes);
    for (int i = -1; i < repetitions; ++i) {  // the first makes the connections
      std::ranges::fill(values, 1.0F);
      world.barrier().value();
      const TimePoint begin = clock.now();
      world.all_reduce(std::span(values)).value();
      const std::chrono::duration<double> took = clock.now() - begin;
      if (std::ranges::any_of(values, [ranks](float value) { return value != ranks; })) {
        std::fputs("a sum is wrong\n", stderr);
        return 1;
      }
      if (world.rank() == 0 && i >= 0) std::printf(" %.9f", took.count());
    }
    if (world.rank() == 0) std::puts("");
    std::fflush(stdout);
  }
  world.close().value();
}
