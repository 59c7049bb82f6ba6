#include "topology/placement/links/machine_paths.h"

#include <algorithm>
#include <cstdint>

#include "topology/path/path.h"
#include "topology/placement/host/nic_choice.h"

namespace paceline::topology {
namespace {

// Of more GPUs not all pairs are looked at only to know the best.
constexpr std::size_t kMostSurveyed = 32;

Hop hop_of(const Path& path) {
  return {.us_per_mb = 1e6 / static_cast<double>(std::max<std::uint64_t>(path.mb_per_s, 1)),
          .latency_us = std::max(path.latency_us, 1e-3)};
}

}  // namespace

MachinePaths::MachinePaths(const HostModel& host)
    : host_(host),
      gpus_(host.gpus.size() * host.gpus.size()),
      nics_(host.gpus.size() * host.nics.size()),
      best_to_nic_(host.gpus.size()) {}

Hop MachinePaths::between(const Seat& from, const Seat& to) {
  if (from.gpu != kNone && to.gpu != kNone) return between_gpus(from.gpu, to.gpu);
  if (from.gpu != kNone) return to_memory(from.gpu, to);
  return to.gpu != kNone ? to_memory(to.gpu, from) : kMemoryHop;
}

Hop MachinePaths::between_gpus(int from, int to) {
  if (from == to) return kSameGpuHop;
  const auto a = static_cast<std::size_t>(std::min(from, to));
  const auto b = static_cast<std::size_t>(std::max(from, to));
  Hop& hop = gpus_[a * host_.gpus.size() + b];
  if (hop.latency_us == 0)
    hop = hop_of(path_between(host_, {DeviceKind::kGpu, from}, {DeviceKind::kGpu, to}));
  return hop;
}

double MachinePaths::us_to_nic(int gpu, int nic) {
  double& us =
      nics_[static_cast<std::size_t>(gpu) * host_.nics.size() + static_cast<std::size_t>(nic)];
  if (us == 0)
    us = hop_of(path_between(host_, {DeviceKind::kGpu, gpu}, {DeviceKind::kNic, nic})).us_per_mb;
  return us;
}

double MachinePaths::best_us_to_nic(int gpu) {
  double& best = best_to_nic_[static_cast<std::size_t>(gpu)];
  if (best > 0) return best;
  for (const int nic : usable_nics(host_))
    best = best > 0 ? std::min(best, us_to_nic(gpu, nic)) : us_to_nic(gpu, nic);
  return best;
}

Hop MachinePaths::to_memory(int gpu, const Seat& other) const {
  if (other.numa_nodes.empty()) return kMemoryHop;
  const Hop hop = hop_of(path_to_node(host_, {DeviceKind::kGpu, gpu}, other.numa_nodes.front()));
  return {.us_per_mb = std::max(hop.us_per_mb, kMemoryHop.us_per_mb),
          .latency_us = std::max(hop.latency_us, kMemoryHop.latency_us)};
}

Hop MachinePaths::best(bool shares_gpus) {
  const std::size_t gpus = host_.gpus.size();
  if (gpus == 0) return kMemoryHop;
  if (gpus > kMostSurveyed) return {};
  if (best_.latency_us == 0) {
    best_ = {.us_per_mb = 1e6, .latency_us = 1e6};
    for (std::size_t a = 0; a < gpus; ++a) {
      for (std::size_t b = a + 1; b < gpus; ++b) {
        const Hop hop = between_gpus(static_cast<int>(a), static_cast<int>(b));
        best_.us_per_mb = std::min(best_.us_per_mb, hop.us_per_mb);
        best_.latency_us = std::min(best_.latency_us, hop.latency_us);
      }
    }
  }
  if (!shares_gpus) return best_;
  return {.us_per_mb = std::min(best_.us_per_mb, kSameGpuHop.us_per_mb),
          .latency_us = std::min(best_.latency_us, kSameGpuHop.latency_us)};
}

}  // namespace paceline::topology
