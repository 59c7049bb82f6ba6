// State of the GPUs of this host as the driver tells it, read in a process of its own: the driver
// may take seconds, never answer, or crash.
#pragma once

#include <string>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/connectivity/host_facts.h"
#include "topology/read/nvml_health.h"

namespace paceline::probe {

/// Fills in the fields of GPUs. Pure.
void add_gpus(const topology::GpuHealthReport& report, HostFacts& into);

/// The second report, without faults that the first does not have: a limit of clocks may pass by
/// itself, and so may a PCIe link that saves power. Pure.
topology::GpuHealthReport confirmed(const topology::GpuHealthReport& first,
                                    const topology::GpuHealthReport& second);

class GpuReader {
 public:
  /// Forks the process. Make it before the first thread.
  explicit GpuReader(const std::string& library = topology::kNvmlLibrary);
  ~GpuReader();
  GpuReader(const GpuReader&) = delete;
  GpuReader& operator=(const GpuReader&) = delete;

  /// Only the fields of GPUs; all are empty without NVIDIA's library or driver. Waits for
  /// `patience` at most, once.
  HostFacts answer(const Clock& clock, Duration patience);

 private:
  void end(const Clock& clock);

  pid_t process_ = -1;
  UniqueFd answer_;
  bool exited_with_success_ = false;
};

}  // namespace paceline::probe
