#include "topology/render/table.h"

#include <algorithm>

#include "topology/render/plain_text.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kBetween = 2;
constexpr std::size_t kLeastOfLast = 16;
constexpr std::size_t kMostCharacters = 4096;  // of a cell in several lines: nobody reads more

using Cell = std::vector<std::string>;  // lines

Cell cell_of(const std::string& text, std::size_t most) {
  if (most == kNoLimit || characters(text) <= most) return {text};
  return fill({cut(text, kMostCharacters)}, {.columns = most});
}

std::string padding(const std::string& text, std::size_t width) {
  return std::string(width - std::min(width, characters(text)), ' ');
}

class Table {
 public:
  Table(const std::vector<std::vector<std::string>>& rows, const TableForm& form) : form_(form) {
    if (rows.empty()) return;
    rows_.resize(rows.size());
    std::size_t used = form.indent;
    for (std::size_t column = 0; column < rows.front().size(); ++column) {
      const bool is_last = column + 1 == rows.front().size();
      const std::size_t most = is_last ? most_of_last(used) : most_of(column);
      std::size_t width = 0;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        rows_[row].push_back(cell_of(rows[row][column], most));
        for (const std::string& line : rows_[row].back()) width = std::max(width, characters(line));
      }
      widths_.push_back(width);
      used += width + kBetween;
    }
  }

  std::string text() const {
    std::string text;
    for (const std::vector<Cell>& row : rows_) {
      const std::size_t lines = std::ranges::max(row, {}, &Cell::size).size();
      for (std::size_t line = 0; line < lines; ++line) append_line(row, line, text);
    }
    return text;
  }

 private:
  std::size_t most_of(std::size_t column) const {
    return column < form_.most.size() ? form_.most[column] : kNoLimit;
  }

  std::size_t most_of_last(std::size_t used) const {
    if (form_.columns == kNoLimit) return kNoLimit;
    return std::max(form_.columns - std::min(form_.columns, used), kLeastOfLast);
  }

  void append_line(const std::vector<Cell>& row, std::size_t line, std::string& text) const {
    std::string cells(form_.indent, ' ');
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string& cell = line < row[i].size() ? row[i][line] : empty_;
      if (i == 0) cells.append(padding(cell, widths_[0])).append(cell);
      if (i > 0) cells.append(kBetween, ' ').append(cell).append(padding(cell, widths_[i]));
    }
    text.append(cells, 0, cells.find_last_not_of(' ') + 1).append("\n");
  }

  const std::string empty_;
  const TableForm& form_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::size_t> widths_;
};

}  // namespace

std::string table_text(const std::vector<std::vector<std::string>>& rows, const TableForm& form) {
  return Table(rows, form).text();
}

}  // namespace paceline::topology
