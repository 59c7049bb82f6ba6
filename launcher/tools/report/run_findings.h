// The most useful things about a run, in sentences. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

inline constexpr std::size_t kMostFindings = 3;

struct RunFinding {
  std::string what;    ///< a sentence without its period; not escaped
  std::string advice;  ///< what to do about it, a sentence; empty: nothing
  double lost_s = 0;   ///< time of all ranks that it costs; 0: none
};

/// At most kMostFindings and at least one, the most expensive first. The run has figures.
/// `baseline`: the one-rank run that its efficiency was measured against, if it is at hand.
std::vector<RunFinding> findings_of(const RunEntry& run, const std::optional<RunEntry>& baseline);

}  // namespace paceline::launcher
