// A check as one JSON document: measurements, faults, and the verdict.
#pragma once

#include <string>
#include <vector>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/host_rules.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

std::string check_json(const probe::Measurements& measured, const std::vector<Finding>& findings,
                       const Verdict& verdict);

}  // namespace paceline::launcher
