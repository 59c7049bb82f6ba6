// Links with a delay: two TAP devices for each (system/tap.h), and a process that carries frames
// from one to the other.
#pragma once

#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

struct DelayedLink {
  UniqueFd host_end;  ///< what is read here waits for the delay before it is written to the other
  UniqueFd port;      ///< what is read here is written at once
};

/// Whether this user may make TAP devices.
Status check_taps();

/// The devices lab_tap() and lab_port() of every host and rail, in this network namespace. They
/// last as long as these descriptors.
Result<std::vector<DelayedLink>> make_delayed_links(const LabPlan& plan);

/// Carries frames for ever. A link holds up to 64 MiB of them; what is too much is lost.
[[noreturn]] void relay(std::vector<DelayedLink> links, Duration delay, const Clock& clock);

}  // namespace paceline::launcher
