// The table of `nvidia-smi topo -m`, `rocm-smi --showtopo` or `amd-smi topology`, as words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/model/bus_id.h"
#include "topology/read/named_text.h"

namespace paceline::topology {

enum class MatrixTool : std::uint8_t { kNvidiaSmi, kRocmSmi, kAmdSmi };

struct MatrixRow {
  std::size_t line = 0;
  std::vector<std::string> cells;   ///< one for each device; its own is X, 0 or SELF
  std::vector<std::string> values;  ///< of each column; empty where the column is
};

struct MatrixGrid {
  MatrixTool tool = MatrixTool::kNvidiaSmi;
  bool has_cells = true;                     ///< false: only the NUMA nodes of GPUs are stated
  std::vector<std::string> devices;          ///< of the columns: GPU0, NIC0, mlx5_0
  std::map<std::string, BusId> buses;        ///< of devices that amd-smi names by address
  std::vector<std::string> columns;          ///< after them: "CPU Affinity", …
  std::vector<MatrixRow> rows;               ///< in the order of `devices`
  std::map<std::string, std::string> names;  ///< of the legend: mlx5_0 of NIC0
};

bool is_gpu_name(const std::string& word);
/// Text before and after the table is ignored, as are the colours of a terminal. An error names
/// file, line and reason.
Result<MatrixGrid> read_matrix_grid(const NamedText& file);

}  // namespace paceline::topology
