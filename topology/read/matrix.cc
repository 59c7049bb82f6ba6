#include "topology/read/matrix.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/model/pci_vendors.h"
#include "topology/read/bounds.h"
#include "topology/read/matrix_grid.h"
#include "topology/read/nic_name.h"
#include "topology/read/warning_list.h"

namespace paceline::topology {
namespace {

struct Cell {
  std::optional<PathKind> kind;  // nothing: PCIe, and not how near
  int links = 0;
};

std::optional<Cell> parse_cell(std::string_view word) {
  if (word == "XGMI") return Cell{PathKind::kNvl};
  if (word == "PCIE") return Cell{};
  if (word == "SOC") return Cell{PathKind::kSys};  // nvidia-smi up to 2017
  const auto kind = parse_path_kind(word);
  if (kind && *kind >= PathKind::kPix && *kind <= PathKind::kSys) return Cell{kind};
  if (!word.starts_with("NV")) return std::nullopt;
  const auto links = parse_number<int>(word.substr(2));
  if (!links || *links < 1 || *links > kMostLinks) return std::nullopt;
  return Cell{PathKind::kNvl, *links};
}

// Of two cells that should be the same, the farther: more steps, fewer links.
Cell farther(const Cell& a, const Cell& b) {
  if (a.kind != b.kind) return !a.kind || (b.kind && *a.kind > *b.kind) ? a : b;
  return a.links <= b.links ? a : b;
}

std::string as_written(std::string_view text) {
  return std::string(1, '"').append(printable(text)).append("\"");
}

class MatrixReader {
 public:
  MatrixReader(const NamedText& file, MatrixGrid grid) : file_(file), grid_(std::move(grid)) {}

  Result<HostModel> read() {
    const char* const tool = grid_.is_of_rocm ? "rocm-smi matrix " : "nvidia-smi matrix ";
    host_.sources = {tool + printable(file_.name)};
    PACELINE_TRY(add_devices());
    PACELINE_TRY(state_paths());
    place_nics();
    warnings_.add_to(host_, 0);
    auto finished = finish(std::move(host_), 0);
    if (!finished.ok()) return unreadable(file_.name, 0, finished.status().text());
    return finished;
  }

 private:
  // ---- devices

  Status add_devices() {
    std::vector<std::pair<int, std::size_t>> gpus;  // number and column
    for (std::size_t i = 0; i < grid_.devices.size(); ++i) {
      if (!is_gpu_name(grid_.devices[i])) {
        add_nic(i);
        continue;
      }
      const auto number = parse_number<int>(std::string_view(grid_.devices[i]).substr(3));
      gpus.emplace_back(number.value_or(INT_MAX), i);
    }
    std::ranges::stable_sort(gpus);
    refs_.resize(grid_.devices.size());
    bool is_odd = false;
    for (const auto& [number, column] : gpus) {
      is_odd |= static_cast<std::size_t>(number) != host_.gpus.size();
      PACELINE_TRY(add_gpu(column));
    }
    if (is_odd) warnings_.say("the numbers of GPUs have gaps; GPUs are renumbered in this order");
    if (has_counted_nodes_)
      warnings_.say(
          "the numbers of NUMA nodes are not stated; nodes are numbered from 0 in the order of "
          "GPUs");
    return {};
  }

  Status add_gpu(std::size_t column) {
    const std::string name = "GPU" + std::to_string(host_.gpus.size());
    refs_[column] = {DeviceKind::kGpu, static_cast<int>(host_.gpus.size())};
    const MatrixRow& row = grid_.rows[column];
    Gpu gpu{.name = name, .names = {name}};
    gpu.pci.vendor = grid_.is_of_rocm ? kAmd : kNvidia;
    PACELINE_TRY_ASSIGN(const CpuSet cpus, list_in(row, "CPU Affinity"));
    PACELINE_TRY_ASSIGN(const CpuSet nodes, list_in(row, "NUMA Affinity"));
    PACELINE_TRY_ASSIGN(const CpuSet memory, list_in(row, "GPU NUMA ID"));
    Place near{.cpus = cpus, .numa_nodes = node_numbers(cpus, nodes)};
    if (near.numa_nodes.size() == 1) add_node(near.numa_nodes.front(), cpus);
    host_.cpus.add(cpus);
    if (near != Place{}) gpu.near = {.value = std::move(near), .source = 0};
    for (const std::size_t number : memory.cpus())
      host_.numa_nodes.push_back({.number = static_cast<int>(number), .kind = MemoryKind::kDevice});
    host_.gpus.push_back(std::move(gpu));
    return {};
  }

  std::vector<int> node_numbers(const CpuSet& cpus, const CpuSet& nodes) {
    std::vector<int> numbers;
    for (const std::size_t number : nodes.cpus()) numbers.push_back(static_cast<int>(number));
    if (!numbers.empty() || cpus.is_empty()) return numbers;
    has_counted_nodes_ = true;
    const auto found = std::ranges::find(counted_nodes_, cpus);
    const auto number = static_cast<int>(found - counted_nodes_.begin());
    if (found == counted_nodes_.end()) counted_nodes_.push_back(cpus);
    return {number};
  }

  void add_node(int number, const CpuSet& cpus) {
    const auto found = std::ranges::find_if(host_.numa_nodes, [&](const NumaNode& node) {
      return node.number == number && node.kind == MemoryKind::kOrdinary;
    });
    if (found == host_.numa_nodes.end()) {
      host_.numa_nodes.push_back({.number = number, .cpus = cpus});
    } else if (found->cpus != cpus) {
      warnings_.say("NUMA node " + std::to_string(number) + " has CPUs " + found->cpus.to_text() +
                    " for one GPU, and " + cpus.to_text() +
                    " for another; the first value is used");
    }
  }

  // What stands in a column, where it is there and not N/A. With fewer words than columns nobody
  // can tell which are empty: the first are taken for the first, and N/A for the last.
  Result<CpuSet> list_in(const MatrixRow& row, std::string_view column) {
    const auto found = std::ranges::find(grid_.columns, column);
    const auto place = static_cast<std::size_t>(found - grid_.columns.begin());
    if (found == grid_.columns.end() || place >= row.rest.size() || row.rest[place] == "N/A")
      return CpuSet();
    const auto list = CpuSet::parse(row.rest[place]);
    if (list) return *list;
    return unreadable(
        file_.name, row.line,
        std::string(column) + " " + as_written(row.rest[place]) + " is not a list of numbers");
  }

  void add_nic(std::size_t column) {
    const auto named = grid_.names.find(grid_.devices[column]);
    Nic nic;
    take_name(nic, named != grid_.names.end() ? named->second : grid_.devices[column]);
    refs_.resize(grid_.devices.size());
    refs_[column] = {DeviceKind::kNic, static_cast<int>(host_.nics.size())};
    host_.nics.push_back(std::move(nic));
  }

  // ---- paths

  Status state_paths() {
    std::vector<std::vector<Cell>> cells;
    for (std::size_t i = 0; i < grid_.rows.size(); ++i) {
      cells.emplace_back();
      for (std::size_t k = 0; k < grid_.rows.size(); ++k) {
        const auto cell = i == k ? Cell{} : parse_cell(grid_.rows[i].cells[k]);
        if (!cell)
          return unreadable(file_.name, grid_.rows[i].line,
                            as_written(grid_.rows[i].cells[k]) + " is not a kind of path");
        cells[i].push_back(*cell);
      }
    }
    for (std::size_t i = 0; i < cells.size(); ++i)
      for (std::size_t k = i + 1; k < cells.size(); ++k) state(i, k, cells[i][k], cells[k][i]);
    warn_of_paths();
    return {};
  }

  void state(std::size_t i, std::size_t k, const Cell& there, const Cell& back) {
    if (there.kind != back.kind || there.links != back.links) {
      if (differing_++ == 0)
        first_differing_ = printable(grid_.devices[i]) + " to " + printable(grid_.devices[k]) +
                           " is " + grid_.rows[i].cells[k] + ", but in the other direction " +
                           grid_.rows[k].cells[i];
    }
    const Cell cell = farther(there, back);
    has_plain_pcie_ |= !cell.kind;
    if (cell.kind)
      host_.stated.push_back(
          {.a = refs_[i], .b = refs_[k], .kind = *cell.kind, .links = cell.links});
  }

  void warn_of_paths() {
    if (differing_ == 1) warnings_.say(first_differing_ + "; the farther one is used");
    if (differing_ > 1)
      warnings_.say(first_differing_ + ", and " + std::to_string(differing_ - 1) +
                    " more pairs differ; the farther ones are used");
    if (has_plain_pcie_) warnings_.say("PCIE does not state a distance; SYS is used");
  }

  // A NIC is where a GPU is that is at most NODE from it, and the nearest of these knows best.
  void place_nics() {
    std::map<int, PathKind> nearest;
    for (const StatedPath& path : host_.stated) {
      const auto [gpu, nic] = std::minmax(path.a, path.b);
      if (gpu.kind == nic.kind || path.kind > PathKind::kNode) continue;
      const Fact<Place>& near = host_.gpus[static_cast<std::size_t>(gpu.place)].near;
      const auto found = nearest.find(nic.place);
      if (!near.is_known() || (found != nearest.end() && found->second <= path.kind)) continue;
      nearest[nic.place] = path.kind;
      host_.nics[static_cast<std::size_t>(nic.place)].near = near;
    }
  }

  const NamedText& file_;
  MatrixGrid grid_;
  HostModel host_;
  WarningList warnings_;
  std::vector<DeviceRef> refs_;  // by column
  std::vector<CpuSet> counted_nodes_;
  bool has_counted_nodes_ = false;
  std::size_t differing_ = 0;
  std::string first_differing_;
  bool has_plain_pcie_ = false;
};

}  // namespace

Result<HostModel> read_matrix(const NamedText& file) {
  PACELINE_TRY_ASSIGN(MatrixGrid grid, read_matrix_grid(file));
  return MatrixReader(file, std::move(grid)).read();
}

}  // namespace paceline::topology
