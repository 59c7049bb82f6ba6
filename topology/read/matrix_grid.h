// The table of `nvidia-smi topo -m` or `rocm-smi --showtopotype`, as words.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "topology/read/named_text.h"

namespace paceline::topology {

struct MatrixRow {
  std::size_t line = 0;
  std::vector<std::string> cells;  ///< one for each column; its own is X, or 0 of rocm-smi
  std::vector<std::string> rest;   ///< what stands in the columns behind
};

struct MatrixGrid {
  std::size_t line = 0;                      ///< of the header
  bool is_of_rocm = false;                   ///< else of nvidia-smi
  std::vector<std::string> devices;          ///< of the columns: GPU0, NIC0, mlx5_0
  std::vector<std::string> columns;          ///< behind them: "CPU Affinity", …
  std::vector<MatrixRow> rows;               ///< in the order of `devices`
  std::map<std::string, std::string> names;  ///< of the legend: mlx5_0 of NIC0
};

bool is_gpu_name(const std::string& word);
/// What stands before and behind the table is passed over, as are the colours of a terminal. An
/// error names file, line and reason.
Result<MatrixGrid> read_matrix_grid(const NamedText& file);

}  // namespace paceline::topology
