// Of texts for people, tests look at parts.
#pragma once

#include <string>
#include <string_view>

namespace paceline::launcher {

inline bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

}  // namespace paceline::launcher
