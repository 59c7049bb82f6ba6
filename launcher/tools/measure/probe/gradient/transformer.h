// What the traces of transformers have in common: linear layers, norms and tables.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::probe {

/// Tensors in the order of forward, for one sequence of so many tokens.
class TransformerBuilder {
 public:
  explicit TransformerBuilder(std::size_t tokens) : tokens_(tokens) {}

  struct Linear {
    std::size_t in, out;
    std::size_t rows;  ///< that it multiplies
  };
  /// Weight and bias.
  void add_linear(const std::string& name, const Linear& layer) {
    const std::size_t weights = layer.in * layer.out;
    add_matrix(name + ".weight", layer.out, layer.in,
               2 * static_cast<double>(layer.rows * weights));
    add_vector(name + ".bias", layer.out, static_cast<double>(layer.rows * layer.out));
  }
  /// A row of it for each token; its gradient adds up as many.
  void add_table(const std::string& name, std::size_t rows, std::size_t width) {
    add_matrix(name + ".weight", rows, width, static_cast<double>(tokens_ * width));
  }
  /// Weight and bias, each an operation or two for every element.
  void add_norm(const std::string& name, std::size_t width) {
    add_vector(name + ".weight", width, 2 * static_cast<double>(tokens_ * width));
    add_vector(name + ".bias", width, 2 * static_cast<double>(tokens_ * width));
  }
  /// The products of all tokens' queries with keys, and of the result with values.
  void add_attention(std::size_t width) {
    add_behind(4 * static_cast<double>(tokens_ * tokens_ * width));
  }
  /// Of the layers behind the last tensor that have no gradient of their own.
  void add_behind(double flops) { tensors_.back().flops_behind += flops; }

  std::vector<TraceTensor> take() { return std::move(tensors_); }

 private:
  void add_matrix(const std::string& name, std::size_t rows, std::size_t columns, double flops) {
    tensors_.push_back({.name = name, .count = rows * columns, .columns = columns, .flops = flops});
  }
  void add_vector(const std::string& name, std::size_t count, double flops) {
    add_matrix(name, 1, count, flops);
  }

  std::size_t tokens_;
  std::vector<TraceTensor> tensors_;
};

}  // namespace paceline::probe
