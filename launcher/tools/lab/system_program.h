// Where the programs lie by which the kernel's network is told what to do.
#pragma once

#include <string>

#include <paceline/status.h>

namespace paceline::launcher {

/// In PATH, or where programs for administrators are; absolute. kUnavailable where it is not
/// installed; then the error names the Debian package that has it.
Result<std::string> find_system_program(const std::string& name, const std::string& package);

}  // namespace paceline::launcher
