// Whether the memory that a measurement needs is there, before it is asked for.
#pragma once

#include <cstdint>

#include <paceline/status.h>

#include "launcher/tools/measure/probe/loop/orders.h"

namespace paceline::launcher {

/// What all ranks of a program allocate together. Pure.
std::uint64_t memory_need(const probe::Orders& orders, int ranks);

/// Code::kExhausted, with what to ask for instead, where so many programs at once need more than
/// nine tenths of `available` bytes. 0: not known. Pure.
Status check_memory(const probe::Orders& orders, int ranks, int programs, std::uint64_t available);

/// What the kernel believes it can give without swapping; 0 where it does not say.
std::uint64_t available_memory();

}  // namespace paceline::launcher
