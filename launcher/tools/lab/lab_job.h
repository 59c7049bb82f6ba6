// Jobs, checks and `bench gradient` on a lab, from a shell outside of it: --engine lab, or
// lab:NAME.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

/// If the engine of `job` is a lab, gives it the hosts of the lab, unless it names some. If this
/// process is outside the lab's network, too, runs `paceline COMMAND ARGUMENTS` again in the lab's
/// switch, and returns the exit code. Nothing in all other cases. Call before any thread is
/// started; see lab_exec().
Result<std::optional<int>> run_in_lab(JobSpec& job, const std::vector<std::string>& command,
                                      std::span<const std::string> arguments);

}  // namespace paceline::launcher
