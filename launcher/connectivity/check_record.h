// The measured part of the document that `paceline check --json` writes: check judges it again, and
// `paceline run --measured` places ranks by it. Pure.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <paceline/status.h>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

/// Of the document's format, in its member "paceline_check".
inline constexpr int kCheckVersion = 1;

/// The document's member "measurements".
nlohmann::json measured_json(const probe::Measurements& measured);

/// The measurements of a whole document. An error says what is wrong with the text, whatever it is.
Result<probe::Measurements> parse_check_json(const std::string& text);

}  // namespace paceline::launcher
