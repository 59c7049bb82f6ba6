// Ranks of which number 1 stops for good after three operations; the others print how their fourth
// ended, and how a call after it does.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include <signal.h>

#include <paceline/communicator.h>

int main() {
  using namespace paceline;
  Communicator world = Communicator::init().value();
  std::vector<float> values(1000, 1.0f);
  for (int i = 0; i < 3; ++i) world.all_reduce(std::span(values)).value();
  if (world.rank() == 1) ::raise(SIGSTOP);
  const Status fourth = world.all_reduce(std::span(values));
  const Status later = world.barrier();
  std::printf("%s\n", fourth.to_string().c_str());
  return later.to_string() == fourth.to_string() ? 0 : 1;
}
