// Variables of the head's environment that ranks on other hosts get.
#pragma once

#include "comm/base/function_ref.h"
#include "launcher/agent/rank_environment.h"

namespace paceline::launcher {

/// The variables that tune the library and, if `paths`, those that select programs, interpreters
/// and shared libraries. `environment` looks up a variable of the head; null: it is not set. Pure.
Variables variables_for_others(bool paths, FunctionRef<const char*(const char*)> environment);

}  // namespace paceline::launcher
