// The words in attributes of NCCL's topology XML: CPU masks, PCI classes, GUIDs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "comm/base/cpu_set.h"

namespace paceline::topology {

/// A mask as the kernel writes it in cpumap: words of 32 bits, the highest first.
struct CpuMask {
  CpuSet cpus;
  int first_digits = 0;  ///< of the first word: fewer than 8 where the kernel counts fewer CPUs
  int short_digits = 0;  ///< of a later word that has fewer than 8; 0: none has
};

/// "0003ff,f0003fff". Nothing where it is no such mask, or names a CPU beyond CpuSet::kMostCpus.
std::optional<CpuMask> parse_cpu_mask(std::string_view text);
/// With words of 8 digits; "00000000" of no CPU.
std::string cpu_mask_text(const CpuSet& cpus);

/// The digits of a PCI class, in pairs and lower case: "0302" and more of "0x030200", "03" of
/// "0x03", which NCCL writes where it knows no more. Empty where the text is; nothing where it is
/// no class.
std::optional<std::string> class_digits(std::string_view text);

/// "506b:4b03:0027:bbf2" of "0xf2bb2700034b6b50": NCCL prints the bytes of the network as a number
/// of the host. Nothing where it is no such number, or so small that somebody has made it up.
std::optional<std::string> guid_of_nccl(std::string_view text);
/// The other way; nothing where it is no GUID.
std::optional<std::string> guid_for_nccl(std::string_view guid);

}  // namespace paceline::topology
