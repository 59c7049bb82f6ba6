#include "launcher/tools/measure/probe/gradient/timeline.h"

#include <algorithm>
#include <numeric>

#include "collectives/gradient/schedule.h"

namespace paceline::probe {
namespace {

constexpr double kForwardShare = 1.0 / 3;

}  // namespace

double Timeline::compute_us() const {
  return std::accumulate(backward_us.begin(), backward_us.end(), forward_us);
}

std::vector<double> Timeline::ready_us() const {
  std::vector<double> ready(backward_us.size());
  double moment = forward_us;
  for (std::size_t i = backward_us.size(); i-- > 0;) ready[i] = moment += backward_us[i];
  return ready;
}

Timeline timeline_of(const Trace& trace, double compute_us) {
  Timeline timeline{.forward_us = compute_us * kForwardShare, .backward_us = {}};
  const double backward_us = compute_us - timeline.forward_us;
  const double all = trace.flops();
  for (const TraceTensor& tensor : trace.tensors)
    timeline.backward_us.push_back(backward_us * (tensor.flops + tensor.flops_behind) / all);
  return timeline;
}

double wire_us(std::size_t bytes, int ranks, const WireRate& rate) {
  if (rate.bytes_per_s <= 0) return 0;
  const double factor = 2.0 * (ranks - 1) / ranks;
  return 1e6 * factor * static_cast<double>(bytes) / rate.bytes_per_s;
}

ExposedBound least_exposed(const Trace& trace, const Timeline& timeline, int ranks,
                           const WireRate& rate) {
  const std::vector<double> ready = timeline.ready_us();
  std::vector<GradientTime> gradients;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < ready.size(); ++i) {
    const std::size_t bytes = trace.tensors[i].count * sizeof(float);
    gradients.push_back({.begin = begin, .bytes = bytes, .ready_us = ready[i]});
    begin += bytes;
  }
  const double computed = timeline.compute_us(), byte_us = wire_us(1, ranks, rate);
  const PathCost path{.alpha_us = rate.latency_us, .beta_us = byte_us};
  return {.bytes_us = std::max(least_end(gradients, {.beta_us = byte_us}) - computed, 0.0),
          .with_latency_us = std::max(least_end(gradients, path) - computed, 0.0)};
}

}  // namespace paceline::probe
