// What lies between two devices of a host, in the words of nvidia-smi and NCCL.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace paceline::topology {

/// From the nearest to the farthest.
enum class PathKind : std::uint8_t {
  kLoc,   ///< LOC: the same device
  kNvl,   ///< NVL: links between accelerators (NVLink, XGMI, Xe Link), past PCIe
  kPix,   ///< PIX: at most one PCIe switch
  kPxb,   ///< PXB: several PCIe switches, and no host bridge
  kPhb,   ///< PHB: one PCIe host bridge
  kNode,  ///< NODE: host bridges of one NUMA node
  kSys,   ///< SYS: the links between NUMA nodes
  kNet,   ///< NET: another host
};

inline constexpr std::array<std::string_view, 8> kPathWords = {"LOC", "NVL",  "PIX", "PXB",
                                                               "PHB", "NODE", "SYS", "NET"};

/// One of them.
std::string_view word_of(PathKind kind);
/// Nullopt if it is not one of these words.
std::optional<PathKind> parse_path_kind(std::string_view word);

}  // namespace paceline::topology
