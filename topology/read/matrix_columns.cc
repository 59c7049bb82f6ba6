#include "topology/read/matrix_columns.h"

#include <algorithm>
#include <span>

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

constexpr std::string_view kColumnBlanks = " \t\r";

using Values = std::vector<std::string>;

// nvidia-smi writes one more tab before "GPU NUMA ID" than its header has, to fill a wide column:
//
//   CPU Affinity <tab> NUMA Affinity <tab>       GPU NUMA ID
//   0-3          <tab> 0             <tab> <tab> N/A
//
// So the last empty value is the one too many.
Values by_tabs(std::string_view text, std::size_t columns) {
  Values values;
  for (std::size_t tab = text.find('\t'); tab != text.npos; tab = text.find('\t')) {
    text.remove_prefix(tab + 1);
    values.emplace_back(trimmed(text.substr(0, text.find('\t')), kColumnBlanks));
  }
  while (values.size() > columns) {
    const auto last = std::ranges::find(values.rbegin(), values.rend(), std::string());
    if (last == values.rend()) break;
    values.erase(std::next(last).base());
  }
  return values;
}

// A cell is written below the name of its device, " X " one blank after it.
bool is_aligned(const MatrixHeader& header, std::span<const MatrixWord> cells) {
  return std::ranges::equal(header.cells, cells, [](std::size_t device, const MatrixWord& cell) {
    return cell.at == device || cell.at == device + 1;
  });
}

// Where tabs have been expanded, a value may begin before its column. But the first column begins
// where the cells end, so a value elsewhere is not of the first column.
Values by_offsets(const MatrixHeader& header, std::span<const MatrixWord> words) {
  Values values;
  for (const MatrixWord& word : words) {
    const auto next = std::ranges::upper_bound(header.columns, word.at);
    auto column = static_cast<std::size_t>(std::max<std::ptrdiff_t>(
        next - header.columns.begin() - 1, static_cast<std::ptrdiff_t>(values.size())));
    if (column == 0 && word.at != header.columns.front()) column = 1;
    values.resize(std::max(column, values.size()));
    values.push_back(word.text);
  }
  return values;
}

Values in_order(std::span<const MatrixWord> words) {
  Values values;
  for (const MatrixWord& word : words) values.push_back(word.text);
  return values;
}

Values some_values(const MatrixHeader& header, std::string_view line,
                   std::span<const MatrixWord> words) {
  const std::span<const MatrixWord> cells = words.subspan(1, header.cells.size());
  const std::span<const MatrixWord> rest = words.subspan(1 + cells.size());
  if (rest.empty() || rest.size() >= header.columns.size()) return in_order(rest);
  const std::string_view after = line.substr(words[cells.size()].at);
  if (after.find('\t') != after.npos) return by_tabs(after, header.columns.size());
  return is_aligned(header, cells) ? by_offsets(header, rest) : in_order(rest);
}

}  // namespace

std::vector<MatrixWord> matrix_words(std::string_view line, std::size_t max_words) {
  std::vector<MatrixWord> words;
  for (std::size_t at = line.find_first_not_of(kColumnBlanks);
       at != line.npos && words.size() < max_words;) {
    const std::size_t end = std::min(line.find_first_of(kColumnBlanks, at), line.size());
    words.push_back({.text = std::string(line.substr(at, end - at)), .at = at});
    at = line.find_first_not_of(kColumnBlanks, end);
  }
  return words;
}

std::vector<std::string> matrix_values(const MatrixHeader& header, std::string_view line,
                                       const std::vector<MatrixWord>& words) {
  Values values = some_values(header, line, words);
  values.resize(std::max(values.size(), header.columns.size()));
  return values;
}

}  // namespace paceline::topology
