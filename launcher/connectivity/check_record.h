// The measurements in the document that `paceline check --json` writes. check judges them again,
// and `paceline run --measured` places ranks by them. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <paceline/status.h>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

/// The version of the document's format, in its member "paceline_check".
inline constexpr int kCheckVersion = 1;

/// The document's member "measurements".
nlohmann::json measured_json(const probe::Measurements& measured);

/// Reads the measurements from a whole document. `text` may be anything; an error says what is
/// wrong with it.
Result<probe::Measurements> parse_check_json(const std::string& text);

}  // namespace paceline::launcher
