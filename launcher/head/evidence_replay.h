// The figures of a job from its recorded evidence, by the code that made them while it ran. Pure.
#pragma once

#include <optional>
#include <vector>

#include "launcher/channel/evidence.pb.h"
#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

/// `items` are as in Evidence (evidence_stream.h). Figures of hosts and GPUs are not in it. None:
/// no rank has used the library.
std::optional<RunFigures> replayed_figures(const std::vector<messages::EvidenceItem>& items);

}  // namespace paceline::launcher
