// A check as one JSON document: what was measured, what was found, and the verdict.
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/connectivity/measurements.h"
#include "launcher/tools/measure/check/host_rules.h"
#include "launcher/tools/measure/check/verdict.h"

namespace paceline::launcher {

std::string check_json(const probe::Measurements& measured, const std::vector<Finding>& findings,
                       const Verdict& verdict);

/// The measurements of such a document; the rest of it follows from them. An error says what is
/// wrong with the text, whatever it is.
Result<probe::Measurements> parse_check_json(const std::string& text);

}  // namespace paceline::launcher
