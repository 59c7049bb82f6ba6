// Costs are sums of floating numbers, which are added up in one order here and in another there.
#pragma once

namespace paceline::topology {

/// What differs by a smaller share is alike.
inline constexpr double kRounding = 1e-9;

}  // namespace paceline::topology
