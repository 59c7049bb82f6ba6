// A job's own certificate: made for it, known to its agents, gone with it.
#pragma once

#include <paceline/status.h>

#include "launcher/channel/remote_call.h"

namespace paceline::launcher {

/// Signed by its own key (EC P-256), for the name kHeadName and no other, valid from a day ago, as
/// clocks differ, for ten years. The key is nowhere but in memory.
Result<Certificate> make_certificate();

}  // namespace paceline::launcher
