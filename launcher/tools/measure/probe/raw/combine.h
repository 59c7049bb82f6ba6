// Elements combined in place, for every type and op: what a compiler makes of a plain loop.
#pragma once

#include <cstddef>

#include <paceline/types.h>

namespace paceline::probe {

/// into[i] = into[i] op from[i]; both hold `count` elements, and do not overlap.
using Combine = void (*)(void* into, const void* from, std::size_t count);
/// Like Combine, for a full packet (launcher/tools/measure/probe/raw/raw_area.h): a loop of known
/// length.
using CombinePacket = void (*)(void* into, const void* from);

struct Combiner {
  Combine elements = nullptr;
  CombinePacket packet = nullptr;
};

/// Null functions for the 16-bit types and averages: they are not written by hand.
Combiner combiner_for(DataType type, ReduceOp op);

}  // namespace paceline::probe
