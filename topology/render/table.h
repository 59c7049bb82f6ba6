// Cells under each other, for a terminal.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <vector>

namespace paceline::topology {

struct TableForm {
  /// How wide each column but the last may be, in characters; none: as wide as its cells. A cell
  /// that is longer goes on in the next line.
  std::vector<std::size_t> most;
  /// Of a whole line; the last column gets what is left, and 16 at least.
  std::size_t columns = std::numeric_limits<std::size_t>::max();
  std::size_t indent = 0;
};

/// The first column stands right, the others left, two blanks between. Rows have the same number of
/// cells, one at least.
std::string table_text(const std::vector<std::vector<std::string>>& rows, const TableForm& form);

}  // namespace paceline::topology
