#include "tests/harness/gradient_trial.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

// What all ranks know of a trial: each draws it anew, and gets the same.
class Script {
 public:
  Script(const GradientTrial& trial, int ranks) : seed_(trial.seed) {
    Random random = drawn(0);
    const std::size_t count = 1 + random.below(14);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t most = random.below(20) == 0 ? 100 * trial.largest : trial.largest;
      parameters_.push_back({.name = "p" + std::to_string(i), .count = random.below(most)});
    }
    // One rank at least has data to the end.
    for (int rank = 0; rank < ranks; ++rank)
      steps_of_.push_back(random.below(3) == 0 ? random.below(trial.steps + 1) : trial.steps);
    steps_of_[random.below(steps_of_.size())] = trial.steps;
    constexpr std::size_t kBucketBytes[] = {0, 0, 0, 1000, 4096, 100'000};
    options_.bucket_bytes = kBucketBytes[random.below(std::size(kBucketBytes))];
    options_.is_average = random.below(3) != 0;
    // Which has a code for each of these sums, if not for their averages.
    if (!options_.is_average && random.below(2) == 0) options_.codec = Codec::kFp16;
    options_.forces_codec = true;
    options_.max_bytes_in_flight = random.below(2) == 0 ? 1 << 16 : 32 << 20;
  }

  const std::vector<Parameter>& parameters() const { return parameters_; }
  const GradientOptions& options() const { return options_; }

  std::vector<int> with_data(std::uint64_t step) const {
    std::vector<int> ranks;
    for (std::size_t rank = 0; rank < steps_of_.size(); ++rank)
      if (step < steps_of_[rank]) ranks.push_back(static_cast<int>(rank));
    return ranks;
  }
  std::uint64_t micro_steps(std::uint64_t step) const {
    Random random = drawn(1, step);
    return random.below(4) == 0 ? 2 + random.below(2) : 1;
  }
  // Changes every eighth step, for some parameters.
  bool is_frozen(std::uint64_t step, std::size_t parameter) const {
    return drawn(2, step / 8, parameter).below(12) == 0;
  }
  bool is_used(std::uint64_t step, std::uint64_t micro, int rank, std::size_t parameter) const {
    return drawn(3, step * 4 + micro, static_cast<std::uint64_t>(rank), parameter).below(7) != 0;
  }
  // Of the last micro-step.
  bool overflows(std::uint64_t step, int rank, std::size_t parameter) const {
    return drawn(4, step, static_cast<std::uint64_t>(rank), parameter).below(400) == 0 &&
           parameters_[parameter].count > 0 && !is_frozen(step, parameter) &&
           is_used(step, micro_steps(step) - 1, rank, parameter);
  }
  // Whole numbers below 32, of which sums are exact.
  static float value(std::uint64_t step, std::uint64_t micro, int rank, std::size_t parameter,
                     std::size_t element) {
    return static_cast<float>(
        (step * 3 + micro * 5 + static_cast<std::uint64_t>(rank) * 7 + parameter * 11 + element) %
        32);
  }
  // What a rank hands in.
  float sum(std::uint64_t step, int rank, std::size_t parameter, std::size_t element) const {
    float sum = 0;
    for (std::uint64_t micro = 0; micro < micro_steps(step); ++micro)
      if (is_used(step, micro, rank, parameter))
        sum += value(step, micro, rank, parameter, element);
    return sum;
  }

 private:
  Random drawn(std::uint64_t what, std::uint64_t a = 0, std::uint64_t b = 0,
               std::uint64_t c = 0) const {
    Random random(seed_);
    for (const std::uint64_t part : {what, a, b, c}) random = Random(random.next() ^ part);
    return random;
  }

  const std::uint64_t seed_;
  std::vector<Parameter> parameters_;
  std::vector<std::uint64_t> steps_of_;  // by rank
  GradientOptions options_;
};

class Rank {
 public:
  Rank(GradientPipeline pipeline, const Script& script, int rank, std::uint64_t seed)
      : pipeline_(std::move(pipeline)),
        script_(script),
        rank_(rank),
        own_(seed * 1000 + static_cast<std::uint64_t>(rank)) {}

  Status step(std::uint64_t step) {
    for (std::size_t i = 0; i < count(); ++i)
      PACELINE_TRY(pipeline_.set_frozen(i, script_.is_frozen(step, i)));
    const std::vector<int> ranks = script_.with_data(step);
    StepResult result;
    if (std::ranges::find(ranks, rank_) == ranks.end()) {
      PACELINE_TRY_ASSIGN(const std::optional<StepResult> joined, pipeline_.join());
      if (!joined) return wrong("it has ended, and others have data");
      result = *joined;
    } else {
      PACELINE_TRY_ASSIGN(result, take_part(step));
    }
    if (result.ranks != static_cast<int>(ranks.size()))
      return wrong(std::to_string(result.ranks) + " ranks have data");
    return check(step, ranks, result);
  }

  Status end() {
    PACELINE_TRY_ASSIGN(const std::optional<StepResult> joined, pipeline_.join());
    return joined ? wrong("it goes on, and nobody has data") : Status();
  }

 private:
  std::size_t count() const { return script_.parameters().size(); }

  Result<StepResult> take_part(std::uint64_t step) {
    const std::uint64_t micro_steps = script_.micro_steps(step);
    std::vector<bool> is_written(count(), false);
    StepResult result;
    for (std::uint64_t micro = 0; micro < micro_steps; ++micro) {
      PACELINE_TRY(pipeline_.set_accumulating(micro + 1 < micro_steps));
      for (const std::size_t i : shuffled()) {
        if (script_.is_frozen(step, i) || !script_.is_used(step, micro, rank_, i)) continue;
        write(step, micro, i, !is_written[i]);
        is_written[i] = true;
        PACELINE_TRY(pipeline_.ready(i));
      }
      const bool is_last = micro + 1 == micro_steps;
      if (is_last && own_.below(2) == 0)
        for (const std::size_t i : shuffled())
          if (!script_.is_frozen(step, i)) PACELINE_TRY(pipeline_.wait(i));
      PACELINE_TRY_ASSIGN(result, pipeline_.wait());
    }
    return result;
  }

  void write(std::uint64_t step, std::uint64_t micro, std::size_t parameter, bool is_first) {
    const std::span<float> gradient = pipeline_.gradient<float>(parameter);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const float value = Script::value(step, micro, rank_, parameter, i);
      gradient[i] = is_first ? value : gradient[i] + value;
    }
    if (micro + 1 == script_.micro_steps(step) && script_.overflows(step, rank_, parameter))
      gradient[own_.below(gradient.size())] = std::numeric_limits<float>::infinity();
  }

  std::vector<std::size_t> shuffled() {
    std::vector<std::size_t> order(count());
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[own_.below(i)]);
    return order;
  }

  Status check(std::uint64_t step, const std::vector<int>& ranks, const StepResult& result) {
    std::optional<Overflow> overflow;
    for (const int rank : ranks)
      for (std::size_t i = 0; i < count() && !overflow; ++i)
        if (script_.overflows(step, rank, i)) overflow = {.rank = rank, .parameter = i};
    if (result.overflow != overflow) return wrong("the overflow");
    if (overflow) return {};
    const auto divisor = script_.options().is_average ? static_cast<float>(ranks.size()) : 1.0f;
    for (std::size_t i = 0; i < count(); ++i) {
      if (script_.is_frozen(step, i)) continue;
      const std::span<const float> gradient = pipeline_.gradient<float>(i);
      // Beginning and end of each; all of those that are small.
      const std::size_t stride = 1 + gradient.size() / 500;
      for (std::size_t j = 0; j < gradient.size(); j += stride) {
        const std::size_t element = (j + stride < gradient.size()) ? j : gradient.size() - 1;
        float sum = 0;
        for (const int rank : ranks) sum += script_.sum(step, rank, i, element);
        if (gradient[element] != sum / divisor)
          return wrong("p" + std::to_string(i) + "[" + std::to_string(element) + "] is " +
                       std::to_string(gradient[element]) + " instead of " +
                       std::to_string(sum / divisor));
      }
    }
    return {};
  }

  GradientPipeline pipeline_;
  const Script& script_;
  const int rank_;
  Random own_;
};

}  // namespace

Status run_gradient_trial(Communicator own, const GradientTrial& trial) {
  const int number = own.rank();
  const Script script(trial, own.size());
  PACELINE_TRY_ASSIGN(
      auto pipeline, GradientPipeline::over(std::move(own), script.parameters(), script.options()));
  Rank rank(std::move(pipeline), script, number, trial.seed);
  for (std::uint64_t step = 0; step < trial.steps; ++step)
    PACELINE_TRY(rank.step(step).with_context("step " + std::to_string(step)));
  return rank.end();
}

}  // namespace paceline::testing
