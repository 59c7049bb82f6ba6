// The variables that -x passes on. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

struct Exports {
  std::vector<EnvironmentSetting> settings;  ///< each with its value, in the order of the options
  std::vector<std::string> missing;          ///< names and patterns that no variable has
};

/// -x NAME takes the value from `environment` ("NAME=value"). In a name, '*' stands for any text:
/// 'NCCL_*' means all variables with such names. ALL means all variables, except those that
/// describe the shell here: PWD, OLDPWD, SHLVL, HOSTNAME and _.
Exports exports_of(std::span<const EnvironmentSetting> given,
                   std::span<const std::string> environment);

}  // namespace paceline::launcher
