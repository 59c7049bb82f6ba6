// All that a program of somebody else's needs, in a world of one.
#include <iostream>
#include <span>
#include <vector>

#include <paceline/communicator.h>

int main() {
  paceline::Communicator world = paceline::Communicator::init().value();
  std::vector<float> gradients(1000, 1.0f);
  world.all_reduce(std::span(gradients)).value();
  const bool right = gradients == std::vector<float>(1000, static_cast<float>(world.size()));
  std::cout << (right ? "ok" : "wrong sum") << '\n';
  return right ? 0 : 1;
}
