// Recorded evidence as another cluster would have given it, by a seed. The verdict must stay. Pure.
//
// - Ranks are renumbered.
// - The clock of each host is ahead by another offset, and drifts.
// - Messages come up to 0.5 s late, those of a host in their order. One of 20 is lost.
// - Sums are rounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "launcher/channel/evidence.pb.h"

namespace paceline::launcher {

struct VariedEvidence {
  std::vector<messages::EvidenceItem> items;
  std::vector<std::uint32_t> ranks;  ///< by old number: the new one, since the last start
};

/// `items` are as in Evidence (launcher/channel/evidence_stream.h).
VariedEvidence varied(const std::vector<messages::EvidenceItem>& items, std::uint64_t seed);

}  // namespace paceline::launcher
