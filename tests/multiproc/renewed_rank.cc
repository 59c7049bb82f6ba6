// A rank that joins the world again: renewed_rank alone|together. Alone, only rank 0 does, and
// prints the error.
#include <chrono>
#include <cstdio>
#include <string_view>

#include <paceline/communicator.h>

int main(int argc, char** argv) {
  using namespace paceline;
  const bool is_alone = argc > 1 && std::string_view(argv[1]) == "alone";
  Communicator world = Communicator::init().value();
  if (is_alone && world.rank() == 0) {
    const auto again = Communicator::init({.timeout_ms = std::chrono::seconds(1)});
    std::printf("%s\n", again.ok() ? "joined" : again.status().to_string().c_str());
  }
  world.barrier().value();
  for (int i = 0; i < 3; ++i) {
    Communicator next = Communicator::init().value();
    float sum = 1;
    next.all_reduce(&sum, &sum, 1, DataType::kFloat32).value();
    if (sum != static_cast<float>(world.size())) return 1;
    next.close().value();
  }
  world.close().value();
}
