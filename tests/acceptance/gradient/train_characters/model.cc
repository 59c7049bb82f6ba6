#include "tests/acceptance/gradient/train_characters/model.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "comm/base/random.h"

namespace characters {
namespace {

// Partial sums of a dot product, which a compiler can keep in vectors.
constexpr std::size_t kSums = 8;

std::size_t size_of(std::size_t array) {
  if (array == 0) return kCharacters * kWidth;
  const Layer& layer = kLayers[(array - 1) / 2];
  return (array % 2 == 1 ? layer.inputs : 1) * layer.outputs;
}

std::size_t columns_of(std::size_t array) {
  return array == 0 ? kWidth : kLayers[(array - 1) / 2].outputs;
}

void add_multiple(float* to, const float* from, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

float dot(const float* a, const float* b, std::size_t count) {
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums)
    for (std::size_t k = 0; k < kSums; ++k) sums[k] += a[i + k] * b[i + k];
  float sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const float one : sums) sum += one;
  return sum;
}

// Logits of a position become d loss / d logits; returns the loss.
double loss_of(std::span<float> logits, std::size_t next) {
  const float largest = *std::ranges::max_element(logits), wanted = logits[next];
  float sum = 0;
  for (float& one : logits) sum += (one = std::exp(one - largest));
  for (float& one : logits) one /= sum;
  logits[next] -= 1;
  return double{std::log(sum) + largest - wanted};
}

}  // namespace

std::vector<paceline::Parameter> Model::arrays() {
  std::vector<paceline::Parameter> all;
  for (std::size_t i = 0; i < kArrays; ++i)
    all.push_back(
        {.name = "array " + std::to_string(i), .count = size_of(i), .columns = columns_of(i)});
  return all;
}

Model::Model(std::uint64_t seed) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < kArrays; ++i) count += size_of(i);
  parameters_.resize(count);
  std::span<float> rest = parameters_;
  for (std::size_t i = 0; i < kArrays; ++i) {
    arrays_[i] = rest.first(size_of(i));
    rest = rest.subspan(size_of(i));
  }
  paceline::Random random(seed);
  const auto fill = [&](std::size_t array, double bound) {
    for (float& one : arrays_[array]) one = static_cast<float>(bound * (2 * random.unit() - 1));
  };
  fill(0, 1);
  for (std::size_t i = 0; i < kLayers.size(); ++i)
    fill(weights_of(i),
         std::sqrt(6.0 / static_cast<double>(kLayers[i].inputs + kLayers[i].outputs)));
}

// Leaves d loss / d logits in delta_; returns the sum of the losses.
double Model::forward(const Text& text, Positions positions) {
  inputs_[0].clear();
  for (const std::size_t position : positions)
    for (std::size_t before = kContext; before > 0; --before) {
      const auto vector = arrays_[0].subspan(text[position - before] * kWidth, kWidth);
      inputs_[0].insert(inputs_[0].end(), vector.begin(), vector.end());
    }
  for (std::size_t i = 0; i < kLayers.size(); ++i) {
    const auto [inputs, outputs] = kLayers[i];
    const bool is_last = i + 1 == kLayers.size();
    std::vector<float>& out = is_last ? delta_ : inputs_[i + 1];
    out.resize(positions.size() * outputs);
    for (std::size_t row = 0; row < positions.size(); ++row)
      std::ranges::copy(arrays_[bias_of(i)], &out[row * outputs]);
    for (std::size_t k = 0; k < inputs; ++k)
      for (std::size_t row = 0; row < positions.size(); ++row)
        add_multiple(&out[row * outputs], &arrays_[weights_of(i)][k * outputs],
                     inputs_[i][row * inputs + k], outputs);
    if (is_last) break;
    for (float& one : out) one = std::tanh(one);
  }
  double sum = 0;
  for (std::size_t row = 0; row < positions.size(); ++row)
    sum += loss_of(std::span(delta_).subspan(row * kCharacters, kCharacters), text[positions[row]]);
  return sum;
}

double Model::loss(const Text& text, Positions positions) {
  return forward(text, positions) / static_cast<double>(positions.size());
}

void Model::backward(const Text& text, Positions positions, const Arrays& gradients,
                     const std::function<void(std::size_t)>& done) {
  forward(text, positions);
  for (float& one : delta_) one /= static_cast<float>(positions.size());
  for (const std::span<float> gradient : gradients) std::ranges::fill(gradient, 0.0f);
  for (std::size_t layer = kLayers.size(); layer-- > 0;) {
    back_through(layer, gradients);
    done(bias_of(layer));
    done(weights_of(layer));
  }
  back_to_vectors(text, positions, gradients[0]);
  done(0);
}

// From delta_ of what the layer gives to that of what it was given.
void Model::back_through(std::size_t layer, const Arrays& gradients) {
  const auto [inputs, outputs] = kLayers[layer];
  const std::size_t rows = delta_.size() / outputs;
  const std::vector<float>& in = inputs_[layer];
  std::vector<float> delta(rows * inputs);
  for (std::size_t row = 0; row < rows; ++row)
    add_multiple(gradients[bias_of(layer)].data(), &delta_[row * outputs], 1, outputs);
  for (std::size_t k = 0; k < inputs; ++k) {
    for (std::size_t row = 0; row < rows; ++row) {
      const float* const from = &delta_[row * outputs];
      const std::size_t at = row * inputs + k;
      add_multiple(&gradients[weights_of(layer)][k * outputs], from, in[at], outputs);
      // The first layer's inputs are vectors as they are, all others those of tanh.
      const float slope = layer == 0 ? 1 : 1 - in[at] * in[at];
      delta[at] = slope * dot(&arrays_[weights_of(layer)][k * outputs], from, outputs);
    }
  }
  delta_ = std::move(delta);
}

void Model::back_to_vectors(const Text& text, Positions positions,
                            std::span<float> gradient) const {
  std::size_t at = 0;
  for (const std::size_t position : positions)
    for (std::size_t before = kContext; before > 0; --before, at += kWidth)
      add_multiple(&gradient[text[position - before] * kWidth], &delta_[at], 1, kWidth);
}

void Model::step(const Arrays& gradients, float rate) {
  for (std::size_t i = 0; i < kArrays; ++i)
    add_multiple(arrays_[i].data(), gradients[i].data(), -rate, arrays_[i].size());
}

}  // namespace characters
