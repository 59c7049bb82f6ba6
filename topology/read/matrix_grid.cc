#include "topology/read/matrix_grid.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/read/matrix_columns.h"

namespace paceline::topology {
namespace {

constexpr std::size_t kMostDevices = 1024, kMostWords = kMostDevices + 16;
constexpr std::array<std::string_view, 3> kColumns = {"CPU Affinity", "NUMA Affinity",
                                                      "GPU NUMA ID"};
constexpr std::array<std::string_view, 9> kCells = {"PIX", "PXB",  "PHB",  "NODE", "SYS",
                                                    "SOC", "XGMI", "PCIE", "N/A"};
constexpr std::string_view kBlanks = " \t\r";
// The title of the table with the kinds of links; rocm-smi and amd-smi print others before it.
constexpr std::string_view kRocmTitle = "Link Type", kAmdTitle = "LINK TYPE TABLE";

using MatrixWords = std::vector<MatrixWord>;

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

bool is_own_cell(const std::string& word) { return word == "X" || word == "0" || word == "SELF"; }

bool is_device_name(const std::string& word) {
  return is_gpu_name(word) || is_numbered(word, "NIC") || parse_bus_id(word).has_value();
}

bool is_cell(const std::string& word) {
  return is_own_cell(word) || is_numbered(word, "NV") ||
         std::ranges::find(kCells, word) != kCells.end();
}

// A header has names where a row has cells.
bool is_header(const MatrixWords& words) {
  return !words.empty() && is_device_name(words[0].text) &&
         (words.size() == 1 || !is_cell(words[1].text));
}

// The number after `key`; nothing where the line has no such key, or -1.
std::optional<int> number_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == line.npos) return std::nullopt;
  const MatrixWords words = matrix_words(line.substr(at + key.size()), 1);
  const auto number = words.empty() ? std::nullopt : parse_number<int>(words[0].text);
  return number && *number >= 0 ? number : std::nullopt;
}

class GridReader {
 public:
  explicit GridReader(const NamedText& file) : file_(file) {}

  Result<MatrixGrid> read() {
    const std::size_t others = find_title();
    for (std::string_view rest = file_.text; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      ++line_;
      if (file_.text.size() - rest.size() >= others)
        PACELINE_TRY(read_line(without_colours(rest.substr(0, end))));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    if (header_line_ == 0) PACELINE_TRY(take_gpus_of_nodes());
    for (const std::string& device : grid_.devices) {
      const auto row = rows_.find(device);
      if (row == rows_.end())
        return unreadable(file_.name, header_line_, printable(device) + " has a column but no row");
      grid_.rows.push_back(std::move(row->second));
    }
    add_nodes();
    return std::move(grid_);
  }

 private:
  enum class Part { kBefore, kTable, kAfter };

  // The length of the text before the table.
  std::size_t find_title() {
    for (const auto& [title, tool] :
         {std::pair(kAmdTitle, MatrixTool::kAmdSmi), std::pair(kRocmTitle, MatrixTool::kRocmSmi)}) {
      const std::size_t at = file_.text.find(title);
      if (at == std::string::npos) continue;
      grid_.tool = tool;
      return at;
    }
    return 0;
  }

  Status read_line(const std::string& line) {
    const MatrixWords words = matrix_words(line, kMostWords);
    if (part_ == Part::kBefore) {
      if (is_header(words)) return read_header(line, words);
      if (!words.empty() && is_device_name(words[0].text))
        return wrong("a row comes before the header line");
    }
    if (part_ == Part::kTable && !words.empty() && is_row(words[0].text))
      return read_row(line, words);
    if (part_ == Part::kTable && !rows_.empty()) part_ = Part::kAfter;
    read_legend(line);
    read_node(line);
    return {};
  }

  bool is_row(const std::string& name) const {
    return places_.contains(name) || is_device_name(name);
  }

  Status read_header(const std::string& line, const MatrixWords& words) {
    part_ = Part::kTable;
    header_line_ = line_;
    for (const auto& [text, at] : words) {
      if (text == "CPU" || text == "NUMA" || text == "GPU") break;
      if (grid_.devices.size() == kMostDevices)
        return wrong("more than " + std::to_string(kMostDevices) + " columns");
      if (!places_.emplace(text, grid_.devices.size()).second)
        return wrong(printable(text) + " has two columns");
      if (const auto bus = parse_bus_id(text)) grid_.buses[text] = *bus;
      grid_.devices.push_back(text);
      header_.cells.push_back(at);
    }
    for (const std::string_view column : kColumns) {
      const std::size_t at = line.find(column);
      if (at == line.npos) continue;
      grid_.columns.emplace_back(column);
      header_.columns.push_back(at);
    }
    return {};
  }

  Status read_row(const std::string& line, const MatrixWords& words) {
    const std::string& name = words[0].text;
    const auto place = places_.find(name);
    if (place == places_.end()) return wrong(printable(name) + " has a row but no column");
    const std::size_t wanted = grid_.devices.size();
    if (words.size() <= wanted)
      return wrong(printable(name) + " has " + std::to_string(words.size() - 1) +
                   " cells, expected " + std::to_string(wanted));
    MatrixRow row{.line = line_, .values = matrix_values(header_, line, words)};
    for (std::size_t i = 1; i <= wanted; ++i) row.cells.push_back(words[i].text);
    const std::string& own = row.cells[place->second];
    if (!is_own_cell(own))
      return wrong(printable(name) + " has \"" + printable(own) +
                   "\" in its own column: a cell is missing, or there is one too many");
    if (row.values.size() > grid_.columns.size())
      return wrong(printable(name) + " has more cells than there are columns");
    if (own == "0") grid_.tool = MatrixTool::kRocmSmi;
    if (!rows_.emplace(name, std::move(row)).second)
      return wrong(printable(name) + " has two rows");
    return {};
  }

  // "  NIC0: mlx5_0"
  void read_legend(std::string_view line) {
    const std::size_t colon = line.find(':');
    if (colon == line.npos) return;
    const MatrixWords key = matrix_words(line.substr(0, colon), 2);
    if (key.size() != 1 || !is_numbered(key[0].text, "NIC") || !places_.contains(key[0].text))
      return;
    std::string_view name = line.substr(colon + 1);
    name.remove_prefix(std::min(name.find_first_not_of(kBlanks), name.size()));
    name = name.substr(0, name.find_last_not_of(kBlanks) + 1);
    if (!name.empty()) grid_.names[key[0].text] = name;
  }

  // "GPU[0] : (Topology) Numa Node: 0" of rocm-smi, and then "Numa Affinity", which is the node of
  // the PCIe function; it counts where the other is -1.
  void read_node(std::string_view line) {
    constexpr std::string_view kStart = "GPU[";
    if (!line.starts_with(kStart)) return;
    const auto number =
        parse_number<int>(line.substr(kStart.size(), line.find(']') - kStart.size()));
    if (!number || *number < 0 || nodes_.size() > kMostDevices) return;
    std::optional<int>& node = nodes_["GPU" + std::to_string(*number)];
    for (const std::string_view key : {"Numa Node:", "Numa Affinity:"})
      if (!node) node = number_after(line, key);
  }

  // `rocm-smi --showtoponuma` prints nodes without a table.
  Status take_gpus_of_nodes() {
    if (nodes_.empty() || nodes_.size() > kMostDevices)
      return unreadable(file_.name, 0, "there is no header line with columns GPU0, GPU1, …");
    grid_.tool = MatrixTool::kRocmSmi;
    grid_.has_cells = false;
    for (const auto& [gpu, node] : nodes_) {
      grid_.devices.push_back(gpu);
      rows_[gpu] = {};
    }
    return {};
  }

  void add_nodes() {
    if (nodes_.empty() || !grid_.columns.empty()) return;
    grid_.columns = {"NUMA Affinity"};
    for (std::size_t i = 0; i < grid_.rows.size(); ++i) {
      const auto found = nodes_.find(grid_.devices[i]);
      const bool is_known = found != nodes_.end() && found->second;
      grid_.rows[i].values = {is_known ? std::to_string(*found->second) : ""};
    }
  }

  Status wrong(const std::string& reason) const { return unreadable(file_.name, line_, reason); }

  const NamedText& file_;
  std::size_t line_ = 0;
  Part part_ = Part::kBefore;
  std::size_t header_line_ = 0;
  MatrixHeader header_;
  MatrixGrid grid_;
  std::map<std::string, std::size_t> places_;  // of the columns
  std::map<std::string, MatrixRow> rows_;
  std::map<std::string, std::optional<int>> nodes_;  // by GPU
};

}  // namespace

bool is_gpu_name(const std::string& word) { return is_numbered(word, "GPU"); }

Result<MatrixGrid> read_matrix_grid(const NamedText& file) { return GridReader(file).read(); }

}  // namespace paceline::topology
