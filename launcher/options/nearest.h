// The known word that a mistyped one most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace paceline::launcher {

/// Empty when none is near: more than a third of its letters (and always at most 3) would have to
/// change. A swap of neighbours is one change (optimal string alignment distance).
std::string nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean 'run'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

}  // namespace paceline::launcher
