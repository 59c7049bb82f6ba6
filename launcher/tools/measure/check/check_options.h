// The arguments of `paceline check`. Pure.
#pragma once

#include <span>
#include <string>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"
#include "launcher/tools/measure/probe/check/check_orders.h"

namespace paceline::launcher {

struct CheckRequest {
  probe::CheckOrders orders;
  bool quick = false;
  bool verbose = false;
  std::string json_file;      ///< "-": standard output; empty: none
  std::string baseline_file;  ///< an earlier document to compare with; empty: none
  std::string from_file;      ///< recorded measurements; empty: measure
  JobSpec job;                ///< what the options for hosts say; without its program
};

/// `arguments` begin after the word check. An error says which word is wrong, and what was likely
/// meant.
Result<CheckRequest> parse_check(std::span<const std::string> arguments);

/// One screen.
std::string check_help();

}  // namespace paceline::launcher
