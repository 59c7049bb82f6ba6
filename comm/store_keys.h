// Names of the store's live entries: facts that whoever serves the store looks up when asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "comm/base/text.h"

namespace paceline {

inline constexpr std::string_view kFlightPrefix = "live/flight/";

/// The entry that says where a rank is by its flight ring, in words.
inline std::string flight_key(int rank) {
  return std::string(kFlightPrefix) + std::to_string(rank);
}

inline std::optional<int> rank_of_flight_key(std::string_view key) {
  if (!key.starts_with(kFlightPrefix)) return std::nullopt;
  key.remove_prefix(kFlightPrefix.size());
  const auto rank = parse_number<int>(key);
  return rank && *rank >= 0 ? rank : std::nullopt;
}

}  // namespace paceline
