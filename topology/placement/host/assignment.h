// The assignment problem (Kuhn, "The Hungarian Method", 1955; here by shortest augmenting paths).
#pragma once

#include <vector>

namespace paceline::topology {

/// Of each row the column that it gets, each column at most once, so that the sum of costs is the
/// least. `costs` has as many columns in each row, and at least as many as rows. Rows^2 x columns.
std::vector<int> cheapest_assignment(const std::vector<std::vector<double>>& costs);

}  // namespace paceline::topology
