#include "examples/train_digits/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace digits {
namespace {

template <class T>
std::array<std::span<T>, kArrays> arrays_of(std::span<T> all, const Shape& shape) {
  std::array<std::span<T>, kArrays> arrays;
  for (std::size_t i = 0; i < kArrays; ++i) {
    arrays[i] = all.first(shape.counts()[i]);
    all = all.subspan(arrays[i].size());
  }
  return arrays;
}
using Weights = std::array<std::span<const float>, kArrays>;

template <class T>
std::span<T> row(std::span<T> matrix, std::size_t index, std::size_t columns) {
  return matrix.subspan(index * columns, columns);
}

/// target += factor * values
void add_scaled(std::span<float> target, float factor, std::span<const float> values) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += factor * values[i];
}

/// Values of the forward pass that the backward pass needs, for one sample.
struct Activations {
  explicit Activations(const Shape& shape) : hidden(shape.hidden) {}

  std::vector<float> hidden;
  std::array<float, kClasses> logits{};
  std::array<float, kClasses> output_delta{};  ///< d loss / d logits
};

void forward(const Weights& weights, std::span<const float> image, Activations& at) {
  std::ranges::copy(weights[kHiddenBias], at.hidden.begin());
  for (std::size_t i = 0; i < image.size(); ++i) {
    add_scaled(at.hidden, image[i], row(weights[kHiddenWeights], i, at.hidden.size()));
  }
  for (float& unit : at.hidden) unit = std::tanh(unit);
  std::ranges::copy(weights[kOutputBias], at.logits.begin());
  for (std::size_t h = 0; h < at.hidden.size(); ++h) {
    add_scaled(at.logits, at.hidden[h], row(weights[kOutputWeights], h, kClasses));
  }
}

std::size_t predicted(const Activations& at) {
  const auto largest = std::max_element(at.logits.begin(), at.logits.end());
  return static_cast<std::size_t>(largest - at.logits.begin());
}

/// Returns the cross-entropy of the softmax of the logits, and sets output_delta to its derivative.
float loss_of(std::size_t label, Activations& at) {
  const float largest = *std::max_element(at.logits.begin(), at.logits.end());
  float sum = 0.0f;
  for (std::size_t k = 0; k < kClasses; ++k) {
    at.output_delta[k] = std::exp(at.logits[k] - largest);  // at most 1, so it cannot overflow
    sum += at.output_delta[k];
  }
  for (float& delta : at.output_delta) delta /= sum;
  at.output_delta[label] -= 1.0f;
  return std::log(sum) + largest - at.logits[label];
}

/// Sets `hidden_delta` to d loss / d input of tanh.
void backward_output(const Weights& weights, const Activations& at, const Gradients& gradients,
                     std::span<float> hidden_delta) {
  for (std::size_t h = 0; h < at.hidden.size(); ++h) {
    const auto outgoing = row(weights[kOutputWeights], h, kClasses);
    const float blame =
        std::inner_product(outgoing.begin(), outgoing.end(), at.output_delta.begin(), 0.0f);
    hidden_delta[h] = blame * (1.0f - at.hidden[h] * at.hidden[h]);
    add_scaled(row(gradients[kOutputWeights], h, kClasses), at.hidden[h], at.output_delta);
  }
  add_scaled(gradients[kOutputBias], 1.0f, at.output_delta);
}

void backward_hidden(std::span<const float> image, std::span<const float> hidden_delta,
                     const Gradients& gradients) {
  add_scaled(gradients[kHiddenBias], 1.0f, hidden_delta);
  for (std::size_t i = 0; i < image.size(); ++i) {
    add_scaled(row(gradients[kHiddenWeights], i, hidden_delta.size()), image[i], hidden_delta);
  }
}

}  // namespace

void Model::randomise(Random& random) {
  const auto fill = [&random](std::span<float> weights, std::size_t inputs, std::size_t outputs) {
    const float bound = std::sqrt(6.0f / static_cast<float>(inputs + outputs));
    for (float& weight : weights) weight = random.symmetric(bound);
  };
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  const auto arrays = arrays_of(std::span(parameters_), shape_);
  fill(arrays[kHiddenWeights], kPixels, shape_.hidden);
  fill(arrays[kOutputWeights], shape_.hidden, kClasses);
}

Tally Model::accumulate(const Dataset& data, Samples samples, const Gradients& gradients,
                        const std::function<void(Array)>& done) const {
  const Weights weights = arrays_of(std::span(parameters_), shape_);
  Tally tally;
  Activations at(shape_);
  std::vector<float> deltas(samples.size() * shape_.hidden);  // one row per sample
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::size_t label = data.labels[samples[i]];
    forward(weights, data.image(samples[i]), at);
    tally.loss += double{loss_of(label, at)};
    tally.correct += predicted(at) == label ? 1 : 0;
    backward_output(weights, at, gradients, row(std::span(deltas), i, shape_.hidden));
  }
  done(kOutputBias);
  done(kOutputWeights);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::span<const float> delta = row(std::span(deltas), i, shape_.hidden);
    backward_hidden(data.image(samples[i]), delta, gradients);
  }
  done(kHiddenBias);
  done(kHiddenWeights);
  return tally;
}

std::size_t Model::count_correct(const Dataset& data, Samples samples) const {
  const Weights weights = arrays_of(std::span(parameters_), shape_);
  Activations at(shape_);
  return static_cast<std::size_t>(
      std::count_if(samples.begin(), samples.end(), [&](std::uint32_t sample) {
        forward(weights, data.image(sample), at);
        return predicted(at) == data.labels[sample];
      }));
}

void MomentumSgd::step(std::span<float> parameters, const Gradients& gradients, std::size_t batch) {
  const float scale = options_.rate / static_cast<float>(batch);
  std::size_t first = 0;
  for (const std::span<const float> gradient : gradients) {
    float* const velocity = &velocity_[first];
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      velocity[i] = options_.momentum * velocity[i] - scale * gradient[i];
      parameters[first + i] += velocity[i];
    }
    first += gradient.size();
  }
}

}  // namespace digits
