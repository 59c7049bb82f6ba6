// The arguments of `paceline scale`. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"
#include "launcher/tools/measure/scale/scaling.h"

namespace paceline::launcher {

struct ScaleRequest {
  std::vector<int> sizes;  ///< numbers of ranks, ascending, none twice
  int rounds = 3;
  std::optional<Scaling> scaling;
  std::string json_file, plot_file;  ///< empty: none
  bool shows_output = false;         ///< of the ranks
  JobSpec job;                       ///< one program, without its number of ranks
};

/// `arguments` begin after the word scale.
Result<ScaleRequest> parse_scale(std::span<const std::string> arguments);
/// One screen.
std::string scale_help();

}  // namespace paceline::launcher
