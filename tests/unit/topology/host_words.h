// What tests of machines say often.
#pragma once

#include <string>
#include <utility>

#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"

namespace paceline::topology {

inline CpuSet cpus(const char* text) { return CpuSet::parse(text).value(); }

constexpr DeviceRef gpu(int place) { return {DeviceKind::kGpu, place}; }
constexpr DeviceRef nic(int place) { return {DeviceKind::kNic, place}; }

inline HostModel finished(HostModel host) { return finish(std::move(host), 0).value(); }
inline HostModel finished_small_host() { return finished(small_host()); }

/// A line each.
inline std::string warnings_of(const HostModel& host) {
  std::string all;
  for (const Warning& warning : host.warnings) all += warning.text + "\n";
  return all;
}

}  // namespace paceline::topology
