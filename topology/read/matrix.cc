#include "topology/read/matrix.h"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "topology/model/finish.h"
#include "topology/model/nic_name.h"
#include "topology/model/pci_vendors.h"
#include "topology/read/bounds.h"
#include "topology/read/matrix_grid.h"
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
    host_.sources = {tool_text() + " matrix " + printable(file_.name)};
    PACELINE_TRY(add_devices());
    PACELINE_TRY(state_paths());
    place_nics();
    warnings_.add_to(host_, 0);
    auto finished = finish(std::move(host_), 0);
    if (!finished.ok()) return unreadable(file_.name, 0, finished.status().text());
    return finished;
  }

 private:
  std::string tool_text() const {
    switch (grid_.tool) {
      case MatrixTool::kNvidiaSmi:
        return "nvidia-smi";
      case MatrixTool::kRocmSmi:
        return "rocm-smi";
      case MatrixTool::kAmdSmi:
        return "amd-smi";
    }
    return {};
  }

  // ---- devices

  Status add_devices() {
    std::vector<std::pair<int, std::size_t>> gpus;  // number and column
    for (std::size_t i = 0; i < grid_.devices.size(); ++i) {
      if (const auto number = gpu_number(i))
        gpus.emplace_back(*number, i);
      else
        add_nic(i);
    }
    std::ranges::stable_sort(gpus);
    PACELINE_TRY(find_nodes());
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

  // amd-smi names GPUs by their address, in the order of their numbers. Nothing for a NIC.
  std::optional<int> gpu_number(std::size_t column) const {
    const std::string& name = grid_.devices[column];
    if (grid_.buses.contains(name)) return static_cast<int>(column);
    if (!is_gpu_name(name)) return std::nullopt;
    return parse_number<int>(std::string_view(name).substr(3)).value_or(INT_MAX);
  }

  // "GPU NUMA ID" is a node of the GPU's own memory, or the node of the CPUs near the GPU. A node
  // of its own is named by one GPU, and is not the first of any list of "NUMA Affinity". The kernel
  // numbers nodes with CPUs before those of GPUs, and MIG reserves more nodes after each:
  //
  //   CPU Affinity  NUMA Affinity    GPU NUMA ID
  //   0-71          0,3-9,11-17      2              <- 0 has CPUs; 3 to 17 are memory of GPUs
  Status find_nodes() {
    std::map<int, int> owners;  // how many GPUs name each node
    std::set<int> near_cpus;
    for (const MatrixRow& row : grid_.rows) {
      PACELINE_TRY_ASSIGN(const CpuSet ids, list_in(row, "GPU NUMA ID"));
      PACELINE_TRY_ASSIGN(const CpuSet nodes, list_in(row, "NUMA Affinity"));
      for (const std::size_t id : ids.cpus()) ++owners[static_cast<int>(id)];
      if (!nodes.is_empty()) near_cpus.insert(static_cast<int>(nodes.first()));
    }
    for (const auto& [node, count] : owners) {
      if (count > 1 || near_cpus.contains(node)) continue;
      first_of_gpus_ = std::min(first_of_gpus_, node);
      host_.numa_nodes.push_back({.number = node, .kind = MemoryKind::kDevice});
    }
    return {};
  }

  Status add_gpu(std::size_t column) {
    const std::string name = "GPU" + std::to_string(host_.gpus.size());
    refs_[column] = {DeviceKind::kGpu, static_cast<int>(host_.gpus.size())};
    const MatrixRow& row = grid_.rows[column];
    Gpu gpu{.name = name, .names = {name}};
    gpu.pci.vendor = grid_.tool == MatrixTool::kNvidiaSmi ? kNvidia : kAmd;
    if (const auto bus = grid_.buses.find(grid_.devices[column]); bus != grid_.buses.end())
      gpu.pci.bus = known(bus->second);
    PACELINE_TRY_ASSIGN(const CpuSet cpus, list_in(row, "CPU Affinity"));
    PACELINE_TRY_ASSIGN(const CpuSet nodes, list_in(row, "NUMA Affinity"));
    Place near{.cpus = cpus, .numa_nodes = node_numbers(cpus, nodes)};
    // Nobody says how several nodes share the CPUs.
    const bool is_one = near.numa_nodes.size() == 1;
    for (const int number : near.numa_nodes) add_node(number, is_one ? cpus : CpuSet());
    host_.cpus.add(cpus);
    if (near != Place{}) gpu.near = {.value = std::move(near), .source = 0};
    host_.gpus.push_back(std::move(gpu));
    return {};
  }

  std::vector<int> node_numbers(const CpuSet& cpus, const CpuSet& nodes) {
    std::vector<int> numbers;
    for (const std::size_t node : nodes.cpus())
      if (const auto number = static_cast<int>(node); numbers.empty() || number < first_of_gpus_)
        numbers.push_back(number);
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
    } else if (found->cpus.is_empty()) {
      found->cpus = cpus;
    } else if (!cpus.is_empty() && found->cpus != cpus && differing_nodes_.insert(number).second) {
      warnings_.say("NUMA node " + std::to_string(number) + " has CPUs " + found->cpus.to_text() +
                    " for one GPU, and " + cpus.to_text() +
                    " for another; the first value is used");
    }
  }

  Result<CpuSet> list_in(const MatrixRow& row, std::string_view column) {
    const auto found = std::ranges::find(grid_.columns, column);
    if (found == grid_.columns.end()) return CpuSet();
    const std::string& value = row.values[static_cast<std::size_t>(found - grid_.columns.begin())];
    if (value.empty() || value == "N/A") return CpuSet();
    const auto list = CpuSet::parse(value);
    if (list) return *list;
    return unreadable(file_.name, row.line,
                      std::string(column) + " " + as_written(value) + " is not a list of numbers");
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
    if (!grid_.has_cells) return {};
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
  std::vector<DeviceRef> refs_;    // by column
  int first_of_gpus_ = INT_MAX;    // the lowest node of a GPU's own memory
  std::set<int> differing_nodes_;  // for which the warning has been given
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
