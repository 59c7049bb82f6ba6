// A classifier with one hidden layer: softmax(tanh(x W1 + b1) W2 + b2), trained on cross-entropy.
//
//   Model model({.hidden = 256});
//   Random random(1);
//   model.randomise(random);
//   GradientArena arena(model.size());
//   arena.clear();
//   model.accumulate(data, samples, arena);
//   world.all_reduce(arena.all()).value();
//
// Parameters lie in one array, gradients in another of the same layout (W1, b1, W2, b2; a weight's
// row belongs to its input), so that each is one message.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "examples/train_digits/dataset.h"
#include "examples/train_digits/random.h"

namespace digits {

struct Shape {
  std::size_t hidden = 0;

  std::size_t parameters() const { return (kPixels + 1) * hidden + (hidden + 1) * kClasses; }
};

/// What a step sums over samples and ranks: gradients, and behind them the loss and how many
/// samples were classified correctly. Together in one buffer they cost one all-reduce.
class GradientArena {
 public:
  explicit GradientArena(std::size_t parameters) : values_(parameters + 2) {}

  void clear() { values_.assign(values_.size(), 0.0f); }
  std::span<float> all() { return values_; }
  std::span<float> gradients() { return std::span(values_).first(values_.size() - 2); }
  float& loss() { return values_[values_.size() - 2]; }
  float& correct() { return values_[values_.size() - 1]; }

 private:
  std::vector<float> values_;
};

class Model {
 public:
  explicit Model(const Shape& shape) : shape_(shape), parameters_(shape.parameters()) {}

  /// Weights uniform with the variance of Glorot and Bengio (AISTATS 2010), biases zero.
  void randomise(Random& random);

  std::size_t size() const { return parameters_.size(); }
  std::span<float> parameters() { return parameters_; }

  /// Adds the sums over `samples` to `arena`: sums, not means, so that shares of any length add up.
  void accumulate(const Dataset& data, Samples samples, GradientArena& arena) const;

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
  void step(std::span<float> parameters, std::span<const float> gradients, std::size_t batch);

 private:
  Options options_;
  std::vector<float> velocity_;
};

}  // namespace digits
