// What the driver says of the GPUs of this host, read in a process of its own: it may take seconds,
// never answer, or crash.
#pragma once

#include <span>
#include <string>

#include "comm/base/clock.h"
#include "launcher/connectivity/host_facts.h"
#include "topology/read/nvml_health.h"

namespace paceline::probe {

/// The fields of GPUs. Pure.
void add_gpus(std::span<const topology::GpuHealth> gpus, HostFacts& into);

/// Forks; call it before the first thread. Waits for `patience` at most. A process that hangs in
/// the driver is killed and left. Nothing is known without NVIDIA's library.
HostFacts read_gpu_facts(const Clock& clock, Duration patience,
                         const std::string& library = topology::kNvmlLibrary);

}  // namespace paceline::probe
