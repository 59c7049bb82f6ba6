// Where ranks sit, as text.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "topology/model/host_model.h"
#include "topology/placement/host/seats.h"

namespace paceline::topology {

/// A table, a line for each rank, with the sentence that says why. `seats` are of `host`.
std::string seats_text(const HostModel& host, const std::vector<Seat>& seats);
/// A line of such a table.
struct SeatLine {
  std::string label;           ///< what stands for the rank
  const Seat* seat = nullptr;  ///< borrowed
  std::string why;
};
/// The same of any lines; none is longer than `columns` (at least 96), what is longer is wrapped.
std::string seat_lines_text(const HostModel& host, const std::vector<SeatLine>& lines,
                            std::optional<std::size_t> columns);
/// The same for programs.
std::string seats_json_text(const HostModel& host, const std::vector<Seat>& seats);

}  // namespace paceline::topology
