// Under placement_stable, parameters that are trained with a pipeline are those that are trained
// without it, to the last bit: for any bucket sizes, in any order of readiness.
//
//   placement_stable_gives_the_same_bits [--quick]
//
// 4 ranks, simulated, over TCP and in shared memory; gradients of floats of all magnitudes, whose
// sums depend on their order.
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

constexpr int kRanks = 4;
constexpr int kSteps = 6;
constexpr float kRate = 0.01f;
constexpr std::size_t kBucketBytes[] = {0, 64, 1000, 4096, 65536, 1 << 24};  // 0: measured

const std::vector<Parameter>& parameters() {
  static const std::vector<Parameter> all = {{"a", 3},      {"b", 5000}, {"c", 1},
                                             {"d", 70'001}, {"e", 64},   {"f", 12'345}};
  return all;
}

using Model = std::vector<std::vector<float>>;

Model fresh() {
  Model model;
  Random random(7);
  for (const Parameter& parameter : parameters()) {
    model.emplace_back(parameter.count);
    for (float& one : model.back()) one = static_cast<float>(random.unit());
  }
  return model;
}

// Of all magnitudes, and it depends on what has been learnt.
void backward(const Model& model, std::size_t place, int rank, int step, std::span<float> into) {
  Random random(static_cast<std::uint64_t>(rank * 1000 + step) * 100 + place);
  for (std::size_t i = 0; i < into.size(); ++i) {
    const auto power = static_cast<int>(random.below(12)) - 6;
    into[i] = std::ldexp(model[place][i] + static_cast<float>(random.unit()), power);
  }
}

void update(Model& model, std::size_t place, std::span<const float> gradient) {
  for (std::size_t i = 0; i < gradient.size(); ++i) model[place][i] -= kRate * gradient[i];
}

Result<Model> without_pipeline(Communicator& world) {
  Model model = fresh();
  for (int step = 0; step < kSteps; ++step) {
    for (std::size_t place = 0; place < model.size(); ++place) {
      std::vector<float> gradient(model[place].size());
      backward(model, place, world.rank(), step, gradient);
      PACELINE_TRY(world.all_reduce(std::span(gradient), ReduceOp::kAvg));
      update(model, place, gradient);
    }
  }
  return model;
}

Result<Model> with_pipeline(Communicator own, std::size_t bucket_bytes) {
  const int rank = own.rank();
  Model model = fresh();
  PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(own), parameters(),
                                                            {.bucket_bytes = bucket_bytes}));
  Random random(static_cast<std::uint64_t>(rank));
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t first = random.below(model.size());
    for (std::size_t i = 0; i < model.size(); ++i) {
      const std::size_t place = (first + i) % model.size();
      backward(model, place, rank, step, pipeline.gradient<float>(place));
      PACELINE_TRY(pipeline.ready(place));
    }
    PACELINE_TRY(pipeline.wait().status());
    for (std::size_t place = 0; place < model.size(); ++place)
      update(model, place, pipeline.gradient<float>(place));
  }
  return model;
}

// In one run each, since a pipeline uses its communicator up.
Status learn(Mode mode, bool with, std::size_t bucket_bytes, Model& learnt) {
  return run_ranks({.mode = mode, .ranks = kRanks, .determinism = Determinism::kPlacementStable},
                   [&](Communicator& world) -> Status {
                     const bool tells = world.rank() == 0;
                     PACELINE_TRY_ASSIGN(Model model,
                                         with ? with_pipeline(std::move(world), bucket_bytes)
                                              : without_pipeline(world));
                     if (tells) learnt = std::move(model);
                     return {};
                   });
}

int run_all() {
  int same = 0;
  for (const Mode mode : {Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads}) {
    Model expected;
    Status status = learn(mode, false, 0, expected);
    for (const std::size_t bucket_bytes : kBucketBytes) {
      Model learnt;
      if (status.ok()) status = learn(mode, true, bucket_bytes, learnt);
      if (!status.ok()) {
        std::printf("%s\n", status.to_string().c_str());
        return 1;
      }
      for (std::size_t place = 0; place < expected.size(); ++place) {
        if (std::memcmp(expected[place].data(), learnt[place].data(), 4 * expected[place].size()) ==
            0)
          continue;
        std::printf("%s, buckets of %zu bytes: parameter %zu differs\n", name(mode).c_str(),
                    bucket_bytes, place);
        return 1;
      }
      ++same;
    }
  }
  std::printf("%d of %d ways to train with a pipeline give the bits of training without one\n",
              same, same);
  return 0;
}

}  // namespace
}  // namespace paceline::testing

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && std::strcmp(argv[1], "--quick") != 0)) {
    std::fputs("usage: placement_stable_gives_the_same_bits [--quick]\n", stderr);
    return 2;
  }
  return paceline::testing::run_all();  // seconds, quick or not
}
