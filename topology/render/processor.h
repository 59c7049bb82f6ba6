// Vendor, family and model of a processor in the numbers that NCCL wants, from its name.
#pragma once

#include <string_view>

namespace paceline::topology {

/// A value. NCCL asks only how fast the links between the processor's packages are (nccl,
/// src/graph/topo.cc), so that one model stands for its whole generation.
struct Processor {
  std::string_view vendor;  ///< of CPUID
  int family = 0;           ///< AMD's as NCCL has counted them first, and still takes them
  int model = 0;            ///< of AMD 0: nobody reads it

  bool operator==(const Processor&) const = default;
};

/// Of x86: "AMD EPYC 9554 64-Core Processor". Of a name that tells nothing Skylake, whose links are
/// among the slowest, since NCCL trusts those of an unknown processor without bounds.
Processor processor_of(std::string_view cpu_model);

}  // namespace paceline::topology
