// The CPU-burning loop of launcher/tools/measure/probe/gradient, for a peer that is a Python
// program.
#include <cstdint>

#include "launcher/tools/measure/probe/gradient/burn_loop.h"

extern "C" __attribute__((visibility("default"))) std::uint64_t paceline_burn(
    std::uint64_t rounds) {
  return paceline::probe::burn_rounds(rounds);
}
