// The findings of a kernel about its elements: the place of the first NaN or infinity, and the sum
// of the squares.
//
// Each block has a fixed share of the elements. So the bits of the sum depend on the elements only,
// and all ranks have the same norm. The host adds up the findings of the blocks in their order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "comm/device/kernel_block.h"

namespace paceline::on_device {

/// Kernels run in so many blocks.
inline constexpr unsigned kBlocks = 512;

struct Findings {
  static constexpr std::uint64_t kNone = UINT64_MAX;

  std::uint64_t first_overflow;  ///< offset in bytes; kNone: all elements are finite
  double sum_of_squares;
};
/// Memory of a block.
struct Shared {
  Findings lanes[kKernelLanes];
};

PACELINE_KERNEL void note_overflow(Findings& findings, double value, std::uint64_t offset) {
  const bool is_finite = value - value == 0;
  if (!is_finite && offset < findings.first_overflow) findings.first_overflow = offset;
}
PACELINE_KERNEL void add(Findings& findings, double value, std::uint64_t offset) {
  note_overflow(findings, value, offset);
  findings.sum_of_squares += value * value;
}
PACELINE_KERNEL void merge(Findings& into, const Findings& from) {
  if (from.first_overflow < into.first_overflow) into.first_overflow = from.first_overflow;
  into.sum_of_squares += from.sum_of_squares;
}

/// Calls `each` with the findings of the lane and with each number below `count`. A lane gets the
/// same numbers on every device.
template <class Block, class Each>
PACELINE_KERNEL void share(const Block& block, Shared& shared, std::uint64_t count,
                           const Each& each) {
  const std::uint64_t stride = std::uint64_t{block.blocks()} * kKernelLanes;
  block.each(kKernelLanes, [&](unsigned lane) {
    Findings findings{Findings::kNone, 0};
    for (std::uint64_t i = std::uint64_t{block.number()} * kKernelLanes + lane; i < count;
         i += stride)
      each(findings, i);
    shared.lanes[lane] = findings;
  });
}
/// Writes those of the block, or adds to them if it goes on.
template <class Block>
PACELINE_KERNEL void keep(const Block& block, Shared& shared, Findings* of_blocks, bool goes_on) {
  for (unsigned half = kKernelLanes / 2; half > 0; half /= 2)
    block.each(half, [&](unsigned lane) { merge(shared.lanes[lane], shared.lanes[lane + half]); });
  block.each(1, [&](unsigned) {
    Findings findings = shared.lanes[0];
    if (goes_on) merge(findings, of_blocks[block.number()]);
    of_blocks[block.number()] = findings;
  });
}

}  // namespace paceline::on_device
