// A client's end of the control service, in the module (control_module.h). Only the module includes
// it.
#pragma once

#include <memory>
#include <string>

#include "launcher/control/control_module.h"

namespace paceline::launcher {

/// A peer that does not acknowledge a ping for this time is gone or stopped. Of both ends.
inline constexpr int kPingMs = 5'000;

std::unique_ptr<ControlClient> connect_to_job(UniqueFd connection);
Result<std::string> snapshot_json(const std::string& snapshot);

}  // namespace paceline::launcher
