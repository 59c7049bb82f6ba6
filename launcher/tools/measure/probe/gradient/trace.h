// The gradients of a real model, layer by layer, and what share of a step's computing each takes.
//
// A trace is generated from the model's architecture. The work of a layer is estimated by the
// floating-point operations of its forward, two for each multiplication with its addition; backward
// takes twice as many, since it multiplies once for the gradient of the weights and once for that
// of the input (Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters
// Using Megatron-LM", SC 2021, appendix). How long memory takes is left out, so that norms, biases
// and embeddings have next to nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::probe {

struct TraceTensor {
  std::string name;
  std::size_t count = 0;    ///< elements, float32
  std::size_t columns = 0;  ///< of a row of its matrix; a vector is one row; 0: it has no rows
  double flops = 0;         ///< of forward, for one sample
  double flops_behind = 0;  ///< of what follows it and has no gradient of its own: attention, say

  bool operator==(const TraceTensor&) const = default;
};

/// In the order in which forward uses them; backward makes their gradients in reverse.
struct Trace {
  std::string name;
  std::string model;  ///< which variant exactly, for people
  std::vector<TraceTensor> tensors;

  std::size_t elements() const;
  std::size_t bytes() const { return elements() * sizeof(float); }
  double flops() const;

  bool operator==(const Trace&) const = default;
};

/// "resnet50", "bert", "gpt2".
std::vector<std::string> trace_names();
/// Nothing where there is no such trace.
std::optional<Trace> find_trace(std::string_view name);

/// Each tensor with `factor` times as many elements, and at least one; the work stays as it is.
/// Rows are as long as they were where they divide that, and else there are none; vectors remain.
/// `factor`: above 0, at most 1.
Trace scaled(Trace trace, double factor);

// The table, a file for each.

Trace resnet50_trace();
Trace bert_trace();
Trace gpt2_trace();

}  // namespace paceline::probe
