// A recorded run whose blocks have noise, for tests of `paceline report`.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>

#include "comm/base/random.h"
#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

struct NoisyRun {
  std::uint64_t seed = 1;
  std::size_t blocks = 32;   ///< of a second, after one of warm-up
  double noise = 0.02;       ///< standard deviation of the computation of a block
  double correlation = 0.3;  ///< of neighbours
  double compute_s = 0.008;  ///< a step
  double growth = 0;         ///< of the computation, from the first block to the last, as a share

  RunEntry entry(const std::string& id) const;
};

// Nearly normal.
inline double noise_of(Random& random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random.unit();
  return sum;
}

inline RunEntry NoisyRun::entry(const std::string& id) const {
  Random random(seed);
  RunEntry run{.id = id,
               .begin_s = 1795956900,
               .seconds = static_cast<double>(blocks) + 2,
               .ranks = 2,
               .hosts = {"h1"},
               .command = "./train",
               .directory = "/work",
               .figures = RunFigures{.has_steps = true}};
  RunFigures& figures = *run.figures;
  double now = noise_of(random), steps = 0, seconds = 0;
  for (std::size_t i = 0; i <= blocks; ++i) {
    now = correlation * now + std::sqrt(1 - correlation * correlation) * noise_of(random);
    const double grown = 1 + growth * static_cast<double>(i) / static_cast<double>(blocks);
    const double compute = compute_s * grown * (i == 0 ? 3 : 1 + noise * now), rest = 0.001;
    StepBlock block{.steps = 1 / (compute + 2 * rest)};
    block.samples = 64 * block.steps;
    block.parts = {compute * block.steps, rest * block.steps, rest * block.steps, 0};
    steps += block.steps;
    seconds += block.seconds();
    figures.blocks.push_back(block);
  }
  figures.steps = static_cast<std::uint64_t>(steps);
  figures.step_seconds = seconds / steps;
  figures.samples_per_s = 64 / figures.step_seconds;
  figures.efficiency = compute_s / figures.step_seconds;
  figures.shares = {{"compute", 0.8}, {"moving data", 0.1}, {"input", 0.1}};
  return run;
}

}  // namespace paceline::launcher
