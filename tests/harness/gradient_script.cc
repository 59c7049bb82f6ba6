#include "tests/harness/gradient_script.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace paceline::testing {
namespace {

// Below this many; a rank hands in at most so many of them, one on top of the other.
constexpr std::uint64_t kPlainValues = 32, kMixedValues = 8;
constexpr double kMostHandedIn = kMixedValues * 3 * 3;
// float16 holds everything that a rank hands in, times this, but not the sum of some ranks.
double large_halves(int uses) { return uses == 1 ? 2048 : 1024; }
constexpr double kTopKShares[] = {0.1, 0.5, 1};
constexpr std::uint64_t kMostFlushingSteps = 14;

constexpr DataType kGradientTypes[] = {DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                                       DataType::kBFloat16};

}  // namespace

GradientScript::GradientScript(const GradientTrial& trial, int ranks)
    : seed_(trial.seed), steps_(trial.steps), is_mixed_(trial.is_mixed), ranks_(ranks) {
  draw_parameters(trial);
  draw_options(trial);
  // One rank at least has data to the end.
  Random random = drawn(8);
  for (int rank = 0; rank < ranks; ++rank)
    steps_of_.push_back(random.below(3) == 0 ? random.below(trial.steps + 1) : trial.steps);
  steps_of_[random.below(steps_of_.size())] = trial.steps;
}

void GradientScript::draw_parameters(const GradientTrial& trial) {
  Random random = drawn(0);
  const std::size_t count = 1 + random.below(14);
  const std::uint64_t of_float32 = random.below(4);  // in four, in a mixed trial
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t most = random.below(20) == 0 ? 100 * trial.largest : trial.largest;
    Parameter one{.name = "p" + std::to_string(i), .count = random.below(most)};
    if (is_mixed_) {
      if (random.below(4) > of_float32) one.type = kGradientTypes[random.below(4)];
      one.uses = random.below(4) == 0 ? 2 + static_cast<int>(random.below(2)) : 1;
      one.columns = random.below(2) == 0 ? 4 : 8;
      one.count -= one.count % one.columns;
    }
    parameters_.push_back(one);
  }
}

void GradientScript::draw_options(const GradientTrial& trial) {
  Random random = drawn(7);
  constexpr std::size_t kBucketBytes[] = {0, 0, 0, 1000, 4096, 100'000};
  options_.bucket_bytes = kBucketBytes[random.below(std::size(kBucketBytes))];
  options_.is_average = random.below(3) != 0;
  options_.max_bytes_in_flight = random.below(2) == 0 ? 1 << 16 : 32 << 20;
  options_.forces_codec = true;
  if (!trial.is_mixed) {
    // Which has a code for each of these sums, if not for their averages.
    if (!options_.is_average && random.below(2) == 0) options_.codec = Codec::kFp16;
    return;
  }
  options_.codec = static_cast<Codec>(random.below(kCodecs));
  options_.forces_codec = options_.codec != Codec::kAuto && random.below(4) != 0;
  options_.finds_overflow = random.below(8) != 0;
  options_.computes_norm = random.below(2) == 0;
  options_.error_budget = 0.1;
  options_.top_k_share = kTopKShares[random.below(std::size(kTopKShares))];
  options_.power_sgd_rank = 1 + static_cast<int>(random.below(4));
}

std::vector<int> GradientScript::with_data(std::uint64_t step) const {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < steps_of_.size(); ++rank)
    if (step < steps_of_[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

std::uint64_t GradientScript::micro_steps(std::uint64_t step) const {
  Random random = drawn(1, step);
  return random.below(4) == 0 ? 2 + random.below(2) : 1;
}

// Changes every eighth step, for some parameters.
bool GradientScript::is_frozen(std::uint64_t step, std::size_t parameter) const {
  return drawn(2, step / 8, parameter).below(12) == 0;
}

std::uint64_t GradientScript::flushing_steps() const {
  return is_mixed_ ? std::min(kMostFlushingSteps, steps_ / 2) : 0;
}

bool GradientScript::is_used(std::uint64_t step, std::uint64_t micro, int rank,
                             std::size_t parameter) const {
  if (step + flushing_steps() >= steps_) return false;
  return drawn(3, step * 4 + micro, static_cast<std::uint64_t>(rank), parameter).below(7) != 0;
}

bool GradientScript::overflows(std::uint64_t step, int rank, std::size_t parameter) const {
  return drawn(4, step, static_cast<std::uint64_t>(rank), parameter).below(400) == 0 &&
         parameters_[parameter].count > 0 && !is_frozen(step, parameter) &&
         is_used(step, micro_steps(step) - 1, rank, parameter);
}

double GradientScript::loss_scale(std::uint64_t step) const {
  const bool has_scale = is_mixed_ && drawn(5).below(2) == 0;
  return has_scale ? std::ldexp(1.0, static_cast<int>(drawn(5, step / 4).below(7)) - 3) : 1;
}

bool GradientScript::saves(std::uint64_t step) const {
  return is_mixed_ && drawn(6, step).below(10) == 0;
}
bool GradientScript::rewinds(std::uint64_t step) const {
  return is_mixed_ && drawn(6, step).below(10) == 1 && step + flushing_steps() < steps_;
}

std::optional<GradientEnding> GradientScript::ending() const {
  Random random = drawn(9);
  if (!is_mixed_ || ranks_ == 1 || random.below(5) != 0) return std::nullopt;
  return GradientEnding{.rank = static_cast<int>(random.below(static_cast<std::uint64_t>(ranks_))),
                        .step = random.below(steps_),
                        .aborts = random.below(2) == 0};
}

double GradientScript::value(std::uint64_t step, std::uint64_t micro, int use, int rank,
                             std::size_t parameter, std::size_t element) const {
  const std::uint64_t number = step * 3 + micro * 5 + static_cast<std::uint64_t>(use) * 13 +
                               static_cast<std::uint64_t>(rank) * 7 + parameter * 11 + element;
  if (!is_mixed_) return static_cast<double>(number % kPlainValues);
  const bool is_large = options_.is_average && drawn(5).below(2) != 0 &&
                        parameters_[parameter].type == DataType::kFloat16;
  return static_cast<double>(number % kMixedValues) * loss_scale(step) *
         (is_large ? large_halves(parameters_[parameter].uses) : 1);
}

double GradientScript::sum(std::uint64_t step, int rank, std::size_t parameter,
                           std::size_t element) const {
  double sum = 0;
  for (std::uint64_t micro = 0; micro < micro_steps(step); ++micro) {
    if (!is_used(step, micro, rank, parameter)) continue;
    for (int use = 0; use < parameters_[parameter].uses; ++use)
      sum += value(step, micro, use, rank, parameter, element);
  }
  return sum;
}

bool GradientScript::feeds_back(std::size_t parameter) const {
  return parameters_[parameter].type == DataType::kFloat32 && feeds_back();
}
bool GradientScript::feeds_back() const {
  const Codec codec = options_.codec;
  return codec == Codec::kInt8 || codec == Codec::kTopK || codec == Codec::kPowerSgd ||
         codec == Codec::kAuto;
}

// int8: half a step of 127 on each rank, and of the sum. An element that top-k has not sent is not
// larger than what all elements together have gained since (Karimireddy et al., ICML 2019, lemma
// 3). Low-rank matrices have no bound that is as simple; this one is ten times what was seen.
double GradientScript::most_owed(std::uint64_t step, std::size_t parameter) const {
  if (!feeds_back(parameter)) return 0;
  const double handed_in = kMostHandedIn * loss_scale(step) * ranks_;
  if (options_.codec == Codec::kInt8) return 1.5 * handed_in / 127;
  if (options_.codec == Codec::kTopK) return 2 * handed_in / options_.top_k_share + handed_in;
  return 20 * handed_in;
}

double GradientScript::most_left(std::uint64_t step, std::size_t parameter) const {
  const double handed_in = kMostHandedIn * loss_scale(step) * ranks_;
  if (!options_.forces_codec) return most_owed(step, parameter);
  return options_.codec == Codec::kPowerSgd ? 0.05 * handed_in : 0.001 * handed_in;
}

double GradientScript::rounding(std::size_t parameter) const {
  if (!is_mixed_) return 0;
  switch (parameters_[parameter].type) {
    case DataType::kBFloat16:
      return 0x1p-6;
    case DataType::kFloat16:
      return 0x1p-9;
    case DataType::kFloat32:
      if (options_.codec == Codec::kBf16) return 0x1p-7;
      return options_.codec == Codec::kFp16 ? 0x1p-10 : 0x1p-20;
    default:
      return 0x1p-50;
  }
}

Random GradientScript::drawn(std::uint64_t what, std::uint64_t a, std::uint64_t b,
                             std::uint64_t c) const {
  Random random(seed_);
  for (const std::uint64_t part : {what, a, b, c}) random = Random(random.next() ^ part);
  return random;
}

}  // namespace paceline::testing
