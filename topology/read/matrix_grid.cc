#include "topology/read/matrix_grid.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kMostDevices = 1024, kMostWords = kMostDevices + 16;
constexpr std::array<std::string_view, 3> kColumns = {"CPU Affinity", "NUMA Affinity",
                                                      "GPU NUMA ID"};
constexpr std::array<std::string_view, 9> kCells = {"PIX", "PXB",  "PHB",  "NODE", "SYS",
                                                    "SOC", "XGMI", "PCIE", "N/A"};
constexpr std::string_view kBlanks = " \t\r";
// The title of the table of rocm-smi that counts; --showtopo prints others before it.
constexpr std::string_view kRocmTitle = "Link Type";

bool is_numbered(std::string_view word, std::string_view prefix) {
  if (!word.starts_with(prefix) || word.size() == prefix.size()) return false;
  return word.find_first_not_of("0123456789", prefix.size()) == word.npos;
}

// Colours, which nvidia-smi writes into files too: ESC [ 4 m.
std::string without_colours(std::string_view line) {
  std::string plain;
  while (!line.empty()) {
    const std::size_t escape = std::min(line.find('\x1b'), line.size());
    plain.append(line.substr(0, escape));
    line.remove_prefix(escape);
    line.remove_prefix(std::min(line.find('m'), line.size()));
    line.remove_prefix(line.empty() ? 0 : 1);
  }
  return plain;
}

// The first of them; no table has more.
std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (std::size_t at = line.find_first_not_of(kBlanks);
       at != line.npos && words.size() < kMostWords;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, at), line.size());
    words.emplace_back(line.substr(at, end - at));
    at = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

bool is_own_cell(const std::string& word) { return word == "X" || word == "0"; }

bool is_device_name(const std::string& word) {
  return is_gpu_name(word) || is_numbered(word, "NIC");
}

bool is_cell(const std::string& word) {
  return is_own_cell(word) || is_numbered(word, "NV") ||
         std::ranges::find(kCells, word) != kCells.end();
}

// A header has names where a row has cells.
bool is_header(const std::vector<std::string>& words) {
  return !words.empty() && is_device_name(words[0]) && (words.size() == 1 || !is_cell(words[1]));
}

class GridReader {
 public:
  explicit GridReader(const NamedText& file) : file_(file) {}

  Result<MatrixGrid> read() {
    std::size_t others = file_.text.find(kRocmTitle);  // the length of the text before the matrix
    grid_.is_of_rocm = others != std::string::npos;
    if (!grid_.is_of_rocm) others = 0;
    for (std::string_view rest = file_.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      ++line_;
      if (file_.text.size() - rest.size() >= others)
        PACELINE_TRY(read_line(without_colours(rest.substr(0, end))));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (grid_.line == 0)
      return unreadable(file_.name, 0, "there is no header line with columns GPU0, GPU1, …");
    for (const std::string& device : grid_.devices) {
      const auto row = rows_.find(device);
      if (row == rows_.end())
        return unreadable(file_.name, grid_.line, printable(device) + " has a column but no row");
      grid_.rows.push_back(std::move(row->second));
    }
    return std::move(grid_);
  }

 private:
  enum class Part { kBefore, kTable, kBehind };

  Status read_line(const std::string& line) {
    const std::vector<std::string> words = words_of(line);
    if (part_ == Part::kBefore) {
      if (is_header(words)) return read_header(words);
      if (!words.empty() && is_device_name(words[0]))
        return wrong("a row comes before the header line");
      return {};
    }
    if (part_ == Part::kTable && !words.empty() && is_row(words[0])) return read_row(words);
    if (part_ == Part::kTable && !rows_.empty()) part_ = Part::kBehind;
    read_legend(line);
    return {};
  }

  bool is_row(const std::string& name) const {
    return places_.contains(name) || is_device_name(name);
  }

  Status read_header(const std::vector<std::string>& words) {
    part_ = Part::kTable;
    grid_.line = line_;
    std::size_t at = 0;
    while (at < words.size() && words[at] != "CPU" && words[at] != "NUMA" && words[at] != "GPU")
      grid_.devices.push_back(words[at++]);
    if (grid_.devices.size() > kMostDevices)
      return wrong("more than " + std::to_string(kMostDevices) + " columns");
    for (std::size_t i = 0; i < grid_.devices.size(); ++i)
      if (!places_.emplace(grid_.devices[i], i).second)
        return wrong(printable(grid_.devices[i]) + " has two columns");
    std::string behind;
    for (; at < words.size(); ++at) behind.append(behind.empty() ? "" : " ").append(words[at]);
    for (const std::string_view column : kColumns)
      if (behind.find(column) != std::string::npos) grid_.columns.emplace_back(column);
    return {};
  }

  Status read_row(const std::vector<std::string>& words) {
    const std::string& name = words[0];
    const auto place = places_.find(name);
    if (place == places_.end()) return wrong(printable(name) + " has a row but no column");
    const std::size_t wanted = grid_.devices.size();
    if (words.size() <= wanted)
      return wrong(printable(name) + " has " + std::to_string(words.size() - 1) +
                   " cells, expected " + std::to_string(wanted));
    const auto behind = words.begin() + static_cast<std::ptrdiff_t>(wanted) + 1;
    MatrixRow row{
        .line = line_, .cells = {words.begin() + 1, behind}, .rest = {behind, words.end()}};
    const std::string& own = row.cells[place->second];
    if (!is_own_cell(own))
      return wrong(printable(name) + " has \"" + printable(own) +
                   "\" in its own column: a cell is missing, or there is one too many");
    if (row.rest.size() > grid_.columns.size())
      return wrong(printable(name) + " has more cells than there are columns");
    grid_.is_of_rocm |= own == "0";
    if (!rows_.emplace(name, std::move(row)).second)
      return wrong(printable(name) + " has two rows");
    return {};
  }

  // "  NIC0: mlx5_0"
  void read_legend(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return;
    const std::vector<std::string> key = words_of(line.substr(0, colon));
    if (key.size() != 1 || !is_numbered(key[0], "NIC") || !places_.contains(key[0])) return;
    std::string_view name = line.substr(colon + 1);
    name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
    name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
    if (!name.empty()) grid_.names[key[0]] = name;
  }

  Status wrong(const std::string& reason) const { return unreadable(file_.name, line_, reason); }

  const NamedText& file_;
  std::size_t line_ = 0;
  Part part_ = Part::kBefore;
  MatrixGrid grid_;
  std::map<std::string, std::size_t> places_;  // of the columns
  std::map<std::string, MatrixRow> rows_;
};

}  // namespace

bool is_gpu_name(const std::string& word) { return is_numbered(word, "GPU"); }

Result<MatrixGrid> read_matrix_grid(const NamedText& file) { return GridReader(file).read(); }

}  // namespace paceline::topology
