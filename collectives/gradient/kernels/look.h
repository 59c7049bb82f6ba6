// A kernel that looks at elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include <paceline/half.h>

#include "collectives/gradient/kernels/findings.h"
#include "comm/device/kernel_block.h"

namespace paceline::on_device {

struct LookArguments {
  const void* elements;  ///< aligned to 16 bytes
  std::uint64_t bytes;
  std::uint64_t offset;   ///< of the first element, in bytes
  Findings* findings;     ///< kBlocks of them
  std::uint64_t goes_on;  ///< 1: it adds to the findings
};

// nvcc compiles functions that are constexpr for devices, too (--expt-relaxed-constexpr).
PACELINE_KERNEL double value_of(Float16 element) { return element.to_float(); }
PACELINE_KERNEL double value_of(BFloat16 element) { return element.to_float(); }
PACELINE_KERNEL double value_of(float element) { return element; }
PACELINE_KERNEL double value_of(double element) { return element; }

template <class Element, class Block>
PACELINE_KERNEL void look(const Block& block, const LookArguments& from, Shared& shared) {
  constexpr unsigned kAtOnce = 16 / sizeof(Element);
  struct alignas(16) Pack {
    Element elements[kAtOnce];
  };
  const std::uint64_t count = from.bytes / sizeof(Element);
  const auto* const elements = static_cast<const Element*>(from.elements);
  const auto note = [&](Findings& findings, Element element, std::uint64_t i) {
    add(findings, value_of(element), from.offset + i * sizeof(Element));
  };
  const std::uint64_t packs = (count + kAtOnce - 1) / kAtOnce;
  share(block, shared, packs, [&](Findings& findings, std::uint64_t pack) {
    const std::uint64_t first = pack * kAtOnce;
    if (first + kAtOnce <= count) {
      const Pack all = *reinterpret_cast<const Pack*>(elements + first);
      for (unsigned j = 0; j < kAtOnce; ++j) note(findings, all.elements[j], first + j);
    } else {
      for (std::uint64_t i = first; i < count; ++i) note(findings, elements[i], i);
    }
  });
  keep(block, shared, from.findings, from.goes_on != 0);
}

}  // namespace paceline::on_device
