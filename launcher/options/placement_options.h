// The options of `paceline run` that say where ranks go. Pure.
#pragma once

#include <span>
#include <string>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// One option: its names, the form of its value (empty: it takes none), its meaning in a line, and
/// what becomes of a value.
struct PlacementOption {
  const char* name;
  const char* form;
  const char* meaning;
  Status (*use)(const std::string& value, PlacementSpec& into);
};

std::span<const PlacementOption> placement_options();

/// What no option can judge alone.
Status check_placement(const JobSpec& job);

/// The page of `paceline run --help-placement`.
std::string placement_help();

}  // namespace paceline::launcher
