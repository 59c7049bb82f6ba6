#include "examples/train_digits/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace digits {
namespace {

/// The layers within a parameter or gradient array.
template <class T>
struct Layers {
  std::span<T> hidden_weights;  ///< kPixels rows of `hidden`
  std::span<T> hidden_bias;
  std::span<T> output_weights;  ///< `hidden` rows of kClasses
  std::span<T> output_bias;
};

template <class T>
Layers<T> layers_of(std::span<T> all, const Shape& shape) {
  const auto take = [&all](std::size_t count) {
    const std::span<T> front = all.first(count);
    all = all.subspan(count);
    return front;
  };
  return {.hidden_weights = take(kPixels * shape.hidden),
          .hidden_bias = take(shape.hidden),
          .output_weights = take(shape.hidden * kClasses),
          .output_bias = take(kClasses)};
}

template <class T>
std::span<T> row(std::span<T> matrix, std::size_t index, std::size_t columns) {
  return matrix.subspan(index * columns, columns);
}

/// target += factor * values
void add_scaled(std::span<float> target, float factor, std::span<const float> values) {
  for (std::size_t i = 0; i < target.size(); ++i) target[i] += factor * values[i];
}

/// What the backward pass needs of the forward one, for one sample.
struct Activations {
  explicit Activations(const Shape& shape) : hidden(shape.hidden), hidden_delta(shape.hidden) {}

  std::vector<float> hidden;
  std::vector<float> hidden_delta;  ///< d loss / d input of tanh
  std::array<float, kClasses> logits{};
  std::array<float, kClasses> output_delta{};  ///< d loss / d logits
};

void forward(const Layers<const float>& weights, std::span<const float> image, Activations& at) {
  std::copy(weights.hidden_bias.begin(), weights.hidden_bias.end(), at.hidden.begin());
  for (std::size_t i = 0; i < image.size(); ++i) {
    add_scaled(at.hidden, image[i], row(weights.hidden_weights, i, at.hidden.size()));
  }
  for (float& unit : at.hidden) unit = std::tanh(unit);
  std::copy(weights.output_bias.begin(), weights.output_bias.end(), at.logits.begin());
  for (std::size_t h = 0; h < at.hidden.size(); ++h) {
    add_scaled(at.logits, at.hidden[h], row(weights.output_weights, h, kClasses));
  }
}

std::size_t predicted(const Activations& at) {
  const auto largest = std::max_element(at.logits.begin(), at.logits.end());
  return static_cast<std::size_t>(largest - at.logits.begin());
}

/// Cross-entropy of the softmax of the logits; leaves its derivative in output_delta.
float loss_of(std::size_t label, Activations& at) {
  const float largest = *std::max_element(at.logits.begin(), at.logits.end());
  float sum = 0.0f;
  for (std::size_t k = 0; k < kClasses; ++k) {
    at.output_delta[k] = std::exp(at.logits[k] - largest);  // at most 1: cannot overflow
    sum += at.output_delta[k];
  }
  for (float& delta : at.output_delta) delta /= sum;
  at.output_delta[label] -= 1.0f;
  return std::log(sum) + largest - at.logits[label];
}

void backward(const Layers<const float>& weights, std::span<const float> image, Activations& at,
              const Layers<float>& gradients) {
  for (std::size_t h = 0; h < at.hidden.size(); ++h) {
    const auto outgoing = row(weights.output_weights, h, kClasses);
    const float blame =
        std::inner_product(outgoing.begin(), outgoing.end(), at.output_delta.begin(), 0.0f);
    at.hidden_delta[h] = blame * (1.0f - at.hidden[h] * at.hidden[h]);
    add_scaled(row(gradients.output_weights, h, kClasses), at.hidden[h], at.output_delta);
  }
  add_scaled(gradients.output_bias, 1.0f, at.output_delta);
  add_scaled(gradients.hidden_bias, 1.0f, at.hidden_delta);
  for (std::size_t i = 0; i < image.size(); ++i) {
    add_scaled(row(gradients.hidden_weights, i, at.hidden.size()), image[i], at.hidden_delta);
  }
}

}  // namespace

void Model::randomise(Random& random) {
  const auto fill = [&random](std::span<float> weights, std::size_t inputs, std::size_t outputs) {
    const float bound = std::sqrt(6.0f / static_cast<float>(inputs + outputs));
    for (float& weight : weights) weight = random.symmetric(bound);
  };
  std::fill(parameters_.begin(), parameters_.end(), 0.0f);
  const auto layers = layers_of(std::span(parameters_), shape_);
  fill(layers.hidden_weights, kPixels, shape_.hidden);
  fill(layers.output_weights, shape_.hidden, kClasses);
}

void Model::accumulate(const Dataset& data, Samples samples, GradientArena& arena) const {
  const auto weights = layers_of(std::span(parameters_), shape_);
  const auto gradients = layers_of(arena.gradients(), shape_);
  Activations at(shape_);
  for (const std::uint32_t sample : samples) {
    const std::size_t label = data.labels[sample];
    forward(weights, data.image(sample), at);
    arena.loss() += loss_of(label, at);
    arena.correct() += predicted(at) == label ? 1.0f : 0.0f;
    backward(weights, data.image(sample), at, gradients);
  }
}

std::size_t Model::count_correct(const Dataset& data, Samples samples) const {
  const auto weights = layers_of(std::span(parameters_), shape_);
  Activations at(shape_);
  return static_cast<std::size_t>(
      std::count_if(samples.begin(), samples.end(), [&](std::uint32_t sample) {
        forward(weights, data.image(sample), at);
        return predicted(at) == data.labels[sample];
      }));
}

void MomentumSgd::step(std::span<float> parameters, std::span<const float> gradients,
                       std::size_t batch) {
  const float scale = options_.rate / static_cast<float>(batch);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    velocity_[i] = options_.momentum * velocity_[i] - scale * gradients[i];
    parameters[i] += velocity_[i];
  }
}

}  // namespace digits
