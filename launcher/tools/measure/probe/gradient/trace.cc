#include "launcher/tools/measure/probe/gradient/trace.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace paceline::probe {
namespace {

struct KnownTrace {
  std::string_view name;
  Trace (*make)();
};
constexpr KnownTrace kTraces[] = {
    {"resnet50", resnet50_trace}, {"bert", bert_trace}, {"gpt2", gpt2_trace}};

}  // namespace

std::size_t Trace::elements() const {
  return std::accumulate(
      tensors.begin(), tensors.end(), std::size_t{0},
      [](std::size_t sum, const TraceTensor& tensor) { return sum + tensor.count; });
}

double Trace::flops() const {
  return std::accumulate(tensors.begin(), tensors.end(), 0.0,
                         [](double sum, const TraceTensor& tensor) {
                           return sum + tensor.flops + tensor.flops_behind;
                         });
}

std::vector<std::string> trace_names() {
  std::vector<std::string> names;
  for (const KnownTrace& row : kTraces) names.emplace_back(row.name);
  return names;
}

std::optional<Trace> find_trace(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kTraces), std::end(kTraces),
                   [name](const KnownTrace& row) { return row.name == name; });
  if (found == std::end(kTraces)) return std::nullopt;
  return found->make();
}

Trace scaled(Trace trace, double factor) {
  for (TraceTensor& tensor : trace.tensors) {
    const bool is_vector = tensor.columns == tensor.count;
    const double count = std::round(factor * static_cast<double>(tensor.count));
    tensor.count = static_cast<std::size_t>(std::max(count, 1.0));
    if (is_vector)
      tensor.columns = tensor.count;
    else if (tensor.columns > 0 && tensor.count % tensor.columns != 0)
      tensor.columns = 0;
  }
  return trace;
}

}  // namespace paceline::probe
