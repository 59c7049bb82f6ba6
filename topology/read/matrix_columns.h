// The columns after the cells of a matrix ("CPU Affinity", …), some of which may be empty.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace paceline::topology {

struct MatrixWord {
  std::string text;
  std::size_t at = 0;  ///< offset in its line
};

/// At most `max_words` words, which are separated by blanks.
std::vector<MatrixWord> matrix_words(std::string_view line, std::size_t max_words);

/// Where the header line has its words.
struct MatrixHeader {
  std::vector<std::size_t> cells;    ///< offsets of the names of devices
  std::vector<std::size_t> columns;  ///< offsets of the columns after them
};

/// The value of each column of a row, "" where the column is empty. `words` are the words of
/// `line`: the name of the row, one cell for each device, and the values. Tabs tell columns apart;
/// without tabs, the offsets in the header do, if rows are aligned with the header. The result has
/// more values than there are columns where the row has too many.
std::vector<std::string> matrix_values(const MatrixHeader& header, std::string_view line,
                                       const std::vector<MatrixWord>& words);

}  // namespace paceline::topology
