// A rank that makes the steps of a trainer of BERT-base without its arithmetic. The gradients have
// the model's layout, shortened, and become ready in backward as the model's would. Computation is
// a sleep, so ranks that share CPUs do not slow each other down. Each rank has a batch of its own.
// Usage: replay_rank STEPS COMPUTE_MS SCALE
//   STEPS        number of steps
//   COMPUTE_MS   a step computes for so long
//   SCALE        share of the elements of each gradient, above 0 to 1
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include <poll.h>

#include <paceline/communicator.h>
#include <paceline/gradient_pipeline.h>
#include <paceline/steps.h>

#include "launcher/tools/measure/probe/gradient/timeline.h"
#include "launcher/tools/measure/probe/gradient/trace.h"

namespace {

using Clock = std::chrono::steady_clock;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr std::uint64_t kBatch = 8;
// Sleeps that are shorter take much longer than they should.
constexpr auto kLeastSleep = std::chrono::milliseconds(1);

void idle_until(Clock::time_point moment, Clock::duration least) {
  const auto left = std::chrono::nanoseconds(moment - Clock::now());
  if (left < least) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  const timespec amount{.tv_sec = seconds.count(), .tv_nsec = (left - seconds).count()};
  ::ppoll(nullptr, 0, &amount, nullptr);
}

void take_step(const std::vector<double>& ready_us, paceline::GradientPipeline& pipeline) {
  paceline::begin_step();
  const auto begin = Clock::now();
  for (std::size_t tensor = ready_us.size(); tensor-- > 0;) {
    const auto ready =
        begin + std::chrono::duration_cast<Clock::duration>(Microseconds(ready_us[tensor]));
    idle_until(ready, tensor == 0 ? Clock::duration(0) : kLeastSleep);
    pipeline.ready(tensor).value();
  }
  pipeline.wait().value();
  paceline::end_step(kBatch);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: replay_rank STEPS COMPUTE_MS SCALE\n");
    return 2;
  }
  const long steps = std::atol(words[1]);
  const paceline::probe::Trace trace = scaled(paceline::probe::bert_trace(), std::atof(words[3]));
  const std::vector<double> ready_us = timeline_of(trace, 1e3 * std::atof(words[2])).ready_us();
  paceline::Communicator world = paceline::Communicator::init().value();
  std::vector<paceline::Parameter> parameters;
  for (const paceline::probe::TraceTensor& tensor : trace.tensors)
    parameters.push_back({.name = tensor.name, .count = tensor.count, .columns = tensor.columns});
  auto pipeline = paceline::GradientPipeline::create(world, std::move(parameters)).value();
  for (long step = 0; step < steps; ++step) take_step(ready_us, pipeline);
  world.close().value();
  std::printf("%zu gradients of %.1f MB, %ld steps\n", trace.tensors.size(),
              static_cast<double>(trace.bytes()) / 1e6, steps);
}
