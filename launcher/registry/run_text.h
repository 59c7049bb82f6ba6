// What `paceline runs` shows. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/registry/run_entry.h"

namespace paceline::launcher {

/// As much of its id as people need.
std::string short_id(const RunEntry& run);
/// "2026-11-29 12:30", in the time zone of this process.
std::string local_minute(double seconds_since_1970);
/// The command, after "[--ablate comm] " if the job leaves out something.
std::string shown_command(const std::string& command, const Ablation& ablated);
/// A sentence without its period for a run that left something out; empty: it did not.
std::string ablation_words(const RunEntry& run);
/// A line of headings and one for each run.
std::string runs_table(const std::vector<RunEntry>& runs);
/// A JSON array of the objects in the run record.
std::string runs_json(const std::vector<RunEntry>& runs);

}  // namespace paceline::launcher
