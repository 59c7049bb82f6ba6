// Paceline in the loop of timed_loop.h.
#include <paceline/communicator.h>

#include "tests/peers/timed_loop.h"

int main(int argc, char** argv) {
  paceline::Communicator world = paceline::Communicator::init().value();
  const auto barrier = [&world] { world.barrier().value(); };
  const auto all_reduce = [&world](std::span<float> values) { world.all_reduce(values).value(); };
  const int code = paceline::peers::time_all_reduces(
      {.rank = world.rank(), .size = world.size(), .barrier = barrier, .all_reduce = all_reduce},
      argc, argv);
  world.close().value();
  return code;
}
