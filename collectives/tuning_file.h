// Where `paceline tune` keeps what it has measured, and where ranks look for it.
#pragma once

#include <optional>
#include <string>

#include <paceline/status.h>

#include "collectives/backend/shm/tuning.h"
#include "comm/base/environment.h"
#include "comm/base/function_ref.h"

namespace paceline {

/// The user's: paceline in $XDG_CACHE_HOME, or in ~/.cache. Empty where `variable` knows neither
/// that nor HOME.
std::string tuning_folder(FunctionRef<const char*(const char*)> variable);
/// The file of a machine in it.
std::string tuning_name(const std::string& machine);

/// Nothing where there is no such file. An error names it: it cannot be read, is none, or is of
/// another machine.
Result<std::optional<shm::Tuning>> read_tuning(const std::string& path, const std::string& machine);

/// What PACELINE_TUNING names, else the user's file. Nothing where there is none.
Result<std::optional<shm::Tuning>> tuning_of(const Environment& environment);

}  // namespace paceline
