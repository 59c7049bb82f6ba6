// A lock on a file that another process may hold: flock(2).
#pragma once

#include <functional>
#include <string>

#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// Whether the lock is held now; false if another process has held it for `patience`. `waits` is
/// called once if it must wait. `what`: for the error, if the file cannot be locked at all.
Result<bool> lock_file(int fd, const std::string& what, Duration patience,
                       const std::function<void()>& waits);

}  // namespace paceline::launcher
