// Options of mpirun, mpiexec, srun and torchrun that `paceline run` does not have, and what to use
// instead. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline::launcher {

/// `option` as it was written, with its dashes and without a value: "--nproc-per-node". Nothing if
/// no peer has it.
std::optional<std::string> instead_of(std::string_view option);

}  // namespace paceline::launcher
