// Places in lists are ints, as -1 is none; the lists themselves count in std::size_t.
#pragma once

#include <cstddef>

namespace paceline::topology {

/// Of a place that is there.
constexpr std::size_t at(int place) { return static_cast<std::size_t>(place); }

}  // namespace paceline::topology
