#include "examples/train_digits/model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace digits {
namespace {

Dataset example_data() { return load_dataset(PACELINE_EXAMPLE_DATA).value(); }

std::vector<std::uint32_t> first_samples(std::size_t count) {
  std::vector<std::uint32_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0u);
  return samples;
}

/// Memory for gradients, zeros at first.
struct Sums {
  explicit Sums(const Model& model) : values(model.size()) {
    std::span<float> rest = values;
    for (std::size_t i = 0; i < kArrays; ++i) {
      gradients[i] = rest.first(model.shape().counts()[i]);
      rest = rest.subspan(gradients[i].size());
    }
  }
  /// Adds those of `samples`; the arrays that were done, in order, are in `done`.
  void add(const Model& model, const Dataset& data, Samples samples) {
    const Tally more =
        model.accumulate(data, samples, gradients, [this](Array one) { done.push_back(one); });
    tally.loss += more.loss;
    tally.correct += more.correct;
  }

  std::vector<float> values;
  Gradients gradients;
  Tally tally;
  std::vector<Array> done;
};

/// The summed loss, each sample's float added up in double so that small changes show.
double loss(const Model& model, const Dataset& data, Samples samples) {
  double sum = 0.0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sums one(model);
    one.add(model, data, samples.subspan(i, 1));
    sum += one.tally.loss;
  }
  return sum;
}

// Balances the error of a finite difference (its square) against that of float (1e-7 over it).
constexpr float kStep = 1e-2f;

TEST(Model, GradientsAreThoseOfFiniteDifferences) {
  const Dataset data = example_data();
  const auto samples = first_samples(7);
  Model model({.hidden = 2});
  Random random(3);
  model.randomise(random);
  Sums sums(model);
  sums.add(model, data, samples);
  for (std::size_t i = 0; i < model.size(); ++i) {
    float& parameter = model.parameters()[i];
    const float before = parameter;
    parameter = before + kStep;
    const double above = loss(model, data, samples);
    parameter = before - kStep;
    const double below = loss(model, data, samples);
    parameter = before;
    EXPECT_NEAR(sums.values[i], (above - below) / (2.0 * double{kStep}), 2e-3) << i;
  }
}

TEST(Model, StartsNearTheLossOfGuessingAndOverflowsNowhere) {
  const Dataset data = example_data();
  const auto samples = first_samples(10);
  Model model({.hidden = 16});
  Sums sums(model);
  sums.add(model, data, samples);
  EXPECT_NEAR(sums.tally.loss, 10.0 * std::log(10.0), 1e-4) << "all parameters zero";
  std::ranges::fill(model.parameters(), 1e4f);
  Sums large(model);
  large.add(model, data, samples);
  EXPECT_TRUE(std::ranges::all_of(large.values, [](float x) { return std::isfinite(x); }));
  EXPECT_TRUE(std::isfinite(large.tally.loss));
}

TEST(Model, EachArrayIsDoneOnceThoseOfTheOutputFirst) {
  const Dataset data = example_data();
  const Model model({.hidden = 4});
  for (const std::size_t count : {0u, 3u}) {
    Sums sums(model);
    sums.add(model, data, first_samples(count));
    EXPECT_EQ(sums.done, (std::vector{kOutputBias, kOutputWeights, kHiddenBias, kHiddenWeights}));
  }
}

/// The loss of every step, where `ranks` ranks compute their shares one after another.
std::vector<double> train(const Dataset& data, int ranks, std::size_t batch) {
  Random random(1);
  Model model({.hidden = 32});
  model.randomise(random);
  auto order = first_samples(data.size());
  MomentumSgd optimizer(model.size(), {.rate = 0.1f, .momentum = 0.9f});
  std::vector<double> curve;
  for (std::size_t first = 0; first + batch <= data.size(); first += batch) {
    Sums sum(model);
    for (int rank = 0; rank < ranks; ++rank) {
      Sums own(model);
      own.add(model, data, share_of(Samples(order).subspan(first, batch), rank, ranks));
      std::ranges::transform(sum.values, own.values, sum.values.begin(), std::plus());
      sum.tally.loss += own.tally.loss;
    }
    optimizer.step(model.parameters(), sum.gradients, batch);
    curve.push_back(sum.tally.loss / static_cast<double>(batch));
  }
  return curve;
}

TEST(Model, TrainsTheSameWhateverTheNumberOfRanks) {
  const Dataset data = example_data();
  const auto alone = train(data, 1, 24);
  EXPECT_LT(alone.back(), 0.25 * alone.front());
  for (const int ranks : {2, 3, 4, 5, 6, 12, 25}) {
    const auto shared = train(data, ranks, 24);
    ASSERT_EQ(shared.size(), alone.size());
    for (std::size_t step = 0; step < alone.size(); ++step) {
      EXPECT_NEAR(shared[step], alone[step], std::max(1e-4 * alone[step], 1e-5))
          << ranks << " ranks, step " << step;
    }
  }
}

TEST(Model, CountsWhatItClassifiesCorrectly) {
  const Dataset data = example_data();
  const auto samples = first_samples(data.size());
  Model model({.hidden = 8});
  Random random(5);
  model.randomise(random);
  Sums sums(model);
  sums.add(model, data, samples);
  EXPECT_EQ(model.count_correct(data, samples), static_cast<std::size_t>(sums.tally.correct));
  EXPECT_EQ(model.count_correct(data, {}), 0u);
}

TEST(MomentumSgd, KeepsPartOfTheLastStep) {
  MomentumSgd optimizer(1, {.rate = 0.5f, .momentum = 0.5f});
  std::vector<float> parameters{10.0f}, gradient{8.0f};
  const Gradients gradients = {std::span(gradient), {}, {}, {}};
  optimizer.step(parameters, gradients, 4);  // v = -0.5 * 8 / 4
  EXPECT_EQ(parameters[0], 9.0f);
  optimizer.step(parameters, gradients, 4);  // v = 0.5 * -1 - 1
  EXPECT_EQ(parameters[0], 7.5f);
}

}  // namespace
}  // namespace digits
