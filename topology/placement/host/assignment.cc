#include "topology/placement/host/assignment.h"

#include <cstddef>
#include <limits>

#include "comm/base/assert.h"

namespace paceline::topology {
namespace {

constexpr double kFar = std::numeric_limits<double>::infinity();

// Places are counted from 1: 0 is no row, and a column from which every path begins.
class Assignment {
 public:
  explicit Assignment(const std::vector<std::vector<double>>& costs)
      : costs_(costs),
        columns_(costs.front().size()),
        of_row_(costs.size() + 1),
        of_column_(columns_ + 1),
        row_of_(columns_ + 1) {}

  std::vector<int> solve() {
    for (std::size_t row = 1; row <= costs_.size(); ++row) add(row);
    std::vector<int> chosen(costs_.size());
    for (std::size_t column = 1; column <= columns_; ++column)
      if (row_of_[column] != 0) chosen[row_of_[column] - 1] = static_cast<int>(column) - 1;
    return chosen;
  }

 private:
  double rest(std::size_t row, std::size_t column) const {
    return costs_[row - 1][column - 1] - of_row_[row] - of_column_[column];
  }

  // The cheapest way to give `row` a column, moving rows that have one already.
  void add(std::size_t row) {
    std::vector<double> least(columns_ + 1, kFar);
    std::vector<std::size_t> before(columns_ + 1, 0);
    std::vector<bool> is_done(columns_ + 1, false);
    std::size_t at = 0;
    row_of_[0] = row;
    while (row_of_[at] != 0) {
      is_done[at] = true;
      std::size_t next = 0;
      double step = kFar;
      for (std::size_t column = 1; column <= columns_; ++column) {
        if (is_done[column]) continue;
        if (const double cost = rest(row_of_[at], column); cost < least[column]) {
          least[column] = cost;
          before[column] = at;
        }
        if (next == 0 || least[column] < step) {
          step = least[column];
          next = column;
        }
      }
      for (std::size_t column = 0; column <= columns_; ++column) {
        if (is_done[column]) {
          of_row_[row_of_[column]] += step;
          of_column_[column] -= step;
        } else {
          least[column] -= step;
        }
      }
      at = next;
    }
    for (; at != 0; at = before[at]) row_of_[at] = row_of_[before[at]];
  }

  const std::vector<std::vector<double>>& costs_;
  const std::size_t columns_;
  std::vector<double> of_row_, of_column_;  // potentials
  std::vector<std::size_t> row_of_;         // by column
};

}  // namespace

std::vector<int> cheapest_assignment(const std::vector<std::vector<double>>& costs) {
  if (costs.empty()) return {};
  for (const auto& row : costs)
    PACELINE_ASSERT(row.size() == costs.front().size() && row.size() >= costs.size());
  return Assignment(costs).solve();
}

}  // namespace paceline::topology
