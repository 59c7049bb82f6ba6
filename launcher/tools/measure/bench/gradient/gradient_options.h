// The arguments of `paceline bench gradient`. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

inline constexpr std::string_view kPipeline = "paceline";  ///< the contender that is ours

struct GradientRequest {
  std::string trace = "resnet50";
  double scale = 1;
  bool burns = false;
  double compute_ratio = 1;          ///< of computing to the time of the wire
  std::optional<double> compute_ms;  ///< instead
  std::string codec = "none";
  std::string measure{kPipeline};  ///< who is compared with the others
  std::vector<std::string> against;
  int pairs = 5;
  int steps = 5;
  std::string json_file;     ///< empty: none
  std::optional<int> ranks;  ///< none: as many as hosts, or 2
  JobSpec job;               ///< what the options for ranks say; without its program
};

/// `arguments` begin after the word gradient. An error says which word is wrong, and what was
/// likely meant.
Result<GradientRequest> parse_gradient_bench(std::span<const std::string> arguments);

/// One screen.
std::string gradient_bench_help();

/// Those that may stand after --against and --measure; paceline:CODEC, too.
std::vector<std::string> gradient_contender_names();

}  // namespace paceline::launcher
