// Vendor, family and model of a processor in the numbers that NCCL wants, from its name.
#pragma once

#include <string_view>

#include "topology/model/host_model.h"

namespace paceline::topology {

/// NCCL asks only how fast the links between the processor's packages are (nccl,
/// src/graph/topo.cc), so that one model stands for its whole generation, and AMD's model is 0.
///
/// The name is one of x86: "AMD EPYC 9554 64-Core Processor". An unknown name is taken for Skylake,
/// whose links are among the slowest, since NCCL trusts those of an unknown processor without
/// bounds.
Processor processor_of(std::string_view cpu_model);

/// The processor of a host with x86: as stated, or as the name of the package with `cpus` implies.
/// Not known if neither is there.
Fact<Processor> nccl_processor_of(const HostModel& host, const CpuSet& cpus);

}  // namespace paceline::topology
