// A classifier with one hidden layer: softmax(tanh(x W1 + b1) W2 + b2), trained on cross-entropy.
//
//   Model model({.hidden = 256});
//   Random random(1);
//   model.randomise(random);
//   model.accumulate(data, samples, gradients, [&](Array done) { pipeline.ready(done).value(); });
//   pipeline.wait().value();
//
// Parameters lie one behind another: W1, b1, W2, b2; a weight's row belongs to its input. Each of
// these arrays has a gradient, which lies where the pipeline has it.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/random.h"

namespace digits {

/// In the order in which forward uses them.
enum Array : std::size_t { kHiddenWeights, kHiddenBias, kOutputWeights, kOutputBias };
inline constexpr std::size_t kArrays = 4;
inline constexpr std::array<const char*, kArrays> kArrayNames = {"hidden weights", "hidden bias",
                                                                 "output weights", "output bias"};

struct Shape {
  std::size_t hidden = 0;

  /// Elements of each array.
  std::array<std::size_t, kArrays> counts() const {
    return {kPixels * hidden, hidden, hidden * kClasses, kClasses};
  }
  /// Of a row of each array.
  std::array<std::size_t, kArrays> columns() const { return {hidden, hidden, kClasses, kClasses}; }
  std::size_t parameters() const { return (kPixels + 1) * hidden + (hidden + 1) * kClasses; }
};

using Gradients = std::array<std::span<float>, kArrays>;

/// Sums over samples.
struct Tally {
  double loss = 0;
  double correct = 0;  ///< classified so
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape), parameters_(shape.parameters()) {}

  /// Weights uniform with the variance of Glorot and Bengio (AISTATS 2010), biases zero.
  void randomise(Random& random);

  const Shape& shape() const { return shape_; }
  std::size_t size() const { return parameters_.size(); }
  std::span<float> parameters() { return parameters_; }

  /// Adds the sums over `samples` to `gradients`: sums, not means, so that shares of any length add
  /// up. Calls `done` as soon as nothing more is added to an array: those of the output come first.
  Tally accumulate(const Dataset& data, Samples samples, const Gradients& gradients,
                   const std::function<void(Array)>& done) const;

  /// How many of `samples` are classified correctly.
  std::size_t count_correct(const Dataset& data, Samples samples) const;

 private:
  Shape shape_;
  std::vector<float> parameters_;
};

/// Stochastic gradient descent with momentum: v = momentum v - rate g; parameters += v.
class MomentumSgd {
 public:
  struct Options {
    float rate = 0.0f;
    float momentum = 0.0f;
  };
  MomentumSgd(std::size_t parameters, const Options& options)
      : options_(options), velocity_(parameters) {}

  /// `gradients` are sums over `batch` samples.
  void step(std::span<float> parameters, const Gradients& gradients, std::size_t batch);

 private:
  Options options_;
  std::vector<float> velocity_;
};

}  // namespace digits
