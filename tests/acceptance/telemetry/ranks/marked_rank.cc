// A rank that marks its steps. Usage: marked_rank STEPS COMPUTE_US INPUT_US [LATE_RANK LATE_US]
// [--async]. Each step takes about so long; the late rank takes longer over its computation. Prints
// a JSON object: its own count of the time from the first mark to the last, and the totals of the
// library, in nanoseconds.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <vector>

#include <paceline/communicator.h>
#include <paceline/steps.h>

#include "comm/base/random.h"

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

// Half of the time to one and a half times it.
void spend(paceline::Random& random, long us) {
  const auto until =
      Clock::now() +
      microseconds(us / 2 + static_cast<long>(random.below(static_cast<std::uint64_t>(us) + 1)));
  while (Clock::now() < until) {
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) return 2;
  const bool is_async = std::string_view(words[count - 1]) == "--async";
  const long steps = std::atol(words[1]), compute_us = std::atol(words[2]),
             input_us = std::atol(words[3]);
  const bool has_late_rank = count - (is_async ? 1 : 0) == 6;
  const long late_rank = has_late_rank ? std::atol(words[4]) : -1;
  const long late_us = has_late_rank ? std::atol(words[5]) : 0;
  paceline::Communicator world = paceline::Communicator::init().value();
  paceline::Random random(static_cast<std::uint64_t>(world.rank()) + 1);
  std::vector<float> gradients(1000, 1.0f);
  const auto begin = Clock::now();
  for (long step = 0; step < steps; ++step) {
    paceline::begin_step();
    {
      const paceline::StepPartScope input(paceline::StepPart::kInput);
      spend(random, input_us);
    }
    spend(random, compute_us);
    if (is_async) {
      paceline::Work work = world.all_reduce_async(std::span(gradients), paceline::ReduceOp::kAvg);
      spend(random, compute_us);
      work.wait().value();
    } else {
      if (world.rank() == late_rank) spend(random, late_us);
      world.all_reduce(std::span(gradients), paceline::ReduceOp::kAvg).value();
    }
    paceline::end_step(8, 1e6);
  }
  const auto wall = std::chrono::nanoseconds(Clock::now() - begin);
  const paceline::StepTotals totals = paceline::step_totals();
  world.close().value();
  std::printf("{\"own_wall\": %lld, \"wall\": %lld, \"steps\": %llu, \"samples\": %llu",
              static_cast<long long>(wall.count()), static_cast<long long>(totals.wall.count()),
              static_cast<unsigned long long>(totals.steps),
              static_cast<unsigned long long>(totals.samples));
  for (std::size_t i = 0; i < paceline::kStepParts; ++i)
    std::printf(", \"%s\": %lld", std::string(name(static_cast<paceline::StepPart>(i))).c_str(),
                static_cast<long long>(totals.parts[i].count()));
  std::printf("}\n");
}
