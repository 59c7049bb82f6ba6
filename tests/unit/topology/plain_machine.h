// Machines that a line describes, numbered as their units come.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "topology/model/finish.h"
#include "topology/model/host_model.h"

namespace paceline::topology {

/// How many of each there are in one of the level before. No caches: none is known.
struct PlainMachine {
  int packages = 2;
  int nodes = 1;
  int caches = 1;
  int cores = 4;
  int threads = 2;
  /// Neighbouring CPU numbers are in different packages, and second threads come last.
  bool is_interleaved = false;
};

inline HostModel plain_machine(const PlainMachine& shape) {
  HostModel host{.name = "plain", .sources = {"a test"}};
  const int in_cache = shape.cores;
  const int in_node = in_cache * (shape.caches > 0 ? shape.caches : 1);
  const int in_package = in_node * shape.nodes;
  const int all = in_package * shape.packages;
  for (int core = 0; core < all; ++core) {
    const int package = core / in_package;
    CpuSet cpus;
    for (int thread = 0; thread < shape.threads; ++thread)
      cpus.add(static_cast<std::size_t>(
          shape.is_interleaved ? thread * all + core % in_package * shape.packages + package
                               : core * shape.threads + thread));
    if (core % in_package == 0) host.packages.push_back({.number = package});
    if (core % in_node == 0) host.numa_nodes.push_back({.number = core / in_node});
    if (core % in_cache == 0 && shape.caches > 0) host.caches.emplace_back();
    host.packages.back().cpus.add(cpus);
    host.numa_nodes.back().cpus.add(cpus);
    if (shape.caches > 0) host.caches.back().cpus.add(cpus);
    host.cpus.add(cpus);
    host.cores.push_back({cpus});
  }
  return finish(std::move(host), 0).value();
}

}  // namespace paceline::topology
