// Lines of JSON, as `bench --json` writes them.
#pragma once

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

namespace paceline::launcher {

/// Members stay in the order in which they were added.
using Json = nlohmann::ordered_json;

/// Rounds to 1e-4: no figure here is more exact.
inline double rounded(double value) { return std::round(value * 1e4) / 1e4; }

/// Without the newline. Bytes that are not UTF-8 are replaced.
inline std::string text_of(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace paceline::launcher
