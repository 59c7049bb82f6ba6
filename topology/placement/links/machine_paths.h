// What an edge between two ranks of one host takes. Each path is looked up once.
#pragma once

#include <cstddef>
#include <vector>

#include "topology/model/host_model.h"
#include "topology/placement/host/seats.h"

namespace paceline::topology {

/// Of an edge.
struct Hop {
  double us_per_mb = 0;
  double latency_us = 0;
};

/// Between ranks without GPUs: a core copies through shared memory with about 10 GB/s, which is
/// less than what lies between NUMA nodes.
inline constexpr Hop kMemoryHop{.us_per_mb = 100, .latency_us = 1};
/// Between ranks of one GPU: its own memory, read and written.
inline constexpr Hop kSameGpuHop{.us_per_mb = 2, .latency_us = 0.5};

class MachinePaths {
 public:
  /// `host` outlives it.
  explicit MachinePaths(const HostModel& host);

  Hop between(const Seat& from, const Seat& to);
  Hop between_gpus(int from, int to);
  /// From a GPU to a NIC, of a MB.
  double us_to_nic(int gpu, int nic);
  /// To whichever usable NIC is the nearest; 0: there is none.
  double best_us_to_nic(int gpu);
  /// No edge between ranks on GPUs is better, in either of the two.
  Hop best(bool shares_gpus);

  const HostModel& host() const { return host_; }

 private:
  Hop to_memory(int gpu, const Seat& other) const;

  const HostModel& host_;
  std::vector<Hop> gpus_;     // by pair, where it has been asked for; else of no latency
  std::vector<double> nics_;  // by GPU and NIC, where it has been asked for; else 0
  Hop best_;
  std::vector<double> best_to_nic_;  // by GPU, where it has been asked for; else 0
};

}  // namespace paceline::topology
