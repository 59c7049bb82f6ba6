// Which character comes next, from those before it: each becomes a vector, all of them together go
// through two hidden layers of tanh. Source: Bengio, Ducharme, Vincent, Jauvin, "A Neural
// Probabilistic Language Model", JMLR 2003.
//
//   Model model(seed);
//   model.backward(text, positions, gradients, [&](std::size_t array) { pipeline.ready(array); });
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "tests/acceptance/gradient/train_characters/text.h"

namespace characters {

inline constexpr std::size_t kContext = 16;  // characters
inline constexpr std::size_t kWidth = 24;    // of a character's vector

/// The last layer's outputs are the logits.
struct Layer {
  std::size_t inputs, outputs;
};
inline constexpr std::array<Layer, 3> kLayers = {
    {{kContext * kWidth, 512}, {512, 432}, {432, kCharacters}}};

/// The characters' vectors, then each layer's weights, of a row for each input, and its bias.
inline constexpr std::size_t kArrays = 1 + 2 * kLayers.size();
constexpr std::size_t weights_of(std::size_t layer) { return 1 + 2 * layer; }
constexpr std::size_t bias_of(std::size_t layer) { return 2 + 2 * layer; }

using Arrays = std::array<std::span<float>, kArrays>;
/// Of characters in the text that are to be foretold.
using Positions = std::span<const std::size_t>;

class Model {
 public:
  /// Weights uniform with the variance of Glorot and Bengio (AISTATS 2010), biases zero.
  explicit Model(std::uint64_t seed);

  std::span<float> parameters() { return parameters_; }
  /// One for each array, in the order in which forward uses them.
  static std::vector<paceline::Parameter> arrays();

  /// The mean loss of the positions, in nats.
  double loss(const Text& text, Positions positions);
  /// Writes the mean gradients, and calls `done` with each array's place as soon as it is written.
  void backward(const Text& text, Positions positions, const Arrays& gradients,
                const std::function<void(std::size_t)>& done);
  /// parameters -= rate × gradients
  void step(const Arrays& gradients, float rate);

 private:
  double forward(const Text& text, Positions positions);
  void back_through(std::size_t layer, const Arrays& gradients);
  void back_to_vectors(const Text& text, Positions positions, std::span<float> gradient) const;

  std::vector<float> parameters_;
  Arrays arrays_;  // in them
  // A row for each position.
  std::array<std::vector<float>, kLayers.size()> inputs_;  // of each layer
  std::vector<float> delta_;                               // d loss / d what a layer gives
};

}  // namespace characters
