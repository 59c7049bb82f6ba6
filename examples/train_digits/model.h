// A classifier with one hidden layer: softmax(tanh(x W1 + b1) W2 + b2), trained on cross-entropy.
//
// Example:
//   Model model({.hidden = 256});
//   Random random(1);
//   model.randomise(random);
//   model.accumulate(data, samples, gradients, [&](Array done) { pipeline.ready(done).value(); });
//   pipeline.wait().value();
//
// The parameters are contiguous: W1, b1, W2, b2. Row i of a weight array belongs to input i. Each
// array has a gradient in the pipeline's memory.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/random.h"

namespace digits {

/// The arrays of parameters, in the order in which forward uses them.
enum Array : std::size_t { kHiddenWeights, kHiddenBias, kOutputWeights, kOutputBias };
inline constexpr std::size_t kArrays = 4;
inline constexpr std::array<const char*, kArrays> kArrayNames = {"hidden weights", "hidden bias",
                                                                 "output weights", "output bias"};

/// The size of a model.
struct Shape {
  std::size_t hidden = 0;

  /// Elements of each array.
  std::array<std::size_t, kArrays> counts() const {
    return {kPixels * hidden, hidden, hidden * kClasses, kClasses};
  }
  /// Elements in a row of each array.
  std::array<std::size_t, kArrays> columns() const { return {hidden, hidden, kClasses, kClasses}; }
  std::size_t parameters() const { return (kPixels + 1) * hidden + (hidden + 1) * kClasses; }
};

using Gradients = std::array<std::span<float>, kArrays>;

/// Sums over samples.
struct Tally {
  double loss = 0;
  double correct = 0;  ///< samples that were classified correctly
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape), parameters_(shape.parameters()) {}

  /// Sets weights to uniform random numbers with the variance of Glorot and Bengio (AISTATS 2010),
  /// and biases to zero.
  void randomise(Random& random);

  const Shape& shape() const { return shape_; }
  std::size_t size() const { return parameters_.size(); }
  std::span<float> parameters() { return parameters_; }

  /// Adds the sums over `samples` to `gradients`. They are sums, not means, so that shares of any
  /// length add up. Calls `done` for each array as soon as it is complete: the output layer first.
  Tally accumulate(const Dataset& data, Samples samples, const Gradients& gradients,
                   const std::function<void(Array)>& done) const;

  /// The number of `samples` that the model classifies correctly.
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

  /// Updates `parameters`. `gradients` are sums over `batch` samples.
  void step(std::span<float> parameters, const Gradients& gradients, std::size_t batch);

 private:
  Options options_;
  std::vector<float> velocity_;
};

}  // namespace digits
