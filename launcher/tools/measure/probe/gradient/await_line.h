// The end of a line, on a descriptor.
#pragma once

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::probe {

/// Reads up to the next newline, and nothing of what stands behind it. Code::kTimeout where none
/// has come after so long, Code::kUnavailable where none will.
Status await_line(int fd, Duration patience);

}  // namespace paceline::probe
