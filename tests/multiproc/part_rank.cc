// Ranks of a world of 4 that is split into its even and its odd ones: part_rank end|stall|go_on.
// Rank 3 ends inside of an operation of the odd ones, or never takes part in it, or all go on with
// operations of their part.
#include <chrono>
#include <string_view>
#include <vector>

#include <unistd.h>

#include <paceline/communicator.h>

int main(int argc, char** argv) {
  using namespace paceline;
  const std::string_view what = argc > 1 ? argv[1] : "end";
  const bool stalls = what == "stall";
  Communicator world = Communicator::init().value();
  Communicator part = world.split(world.rank() % 2, world.rank()).value().value();
  std::vector<float> values(1000, 1.0F);
  part.all_reduce(std::span(values)).value();
  while (what == "go_on") part.all_reduce(std::span(values)).value();
  if (world.rank() == 1 && stalls) {
    part.set_timeout(std::chrono::seconds(1)).value();
    return part.all_reduce(std::span(values)).ok() ? 0 : 4;
  }
  if (world.rank() == 3 && !stalls) {
    const Work work = part.all_reduce_async(values.data(), values.data(), values.size(),
                                            DataType::kFloat32, ReduceOp::kSum);
    (void)work.wait_for(std::chrono::milliseconds(200));
    ::_exit(3);
  }
  ::pause();
}
