// Where ranks sit, as text.
#pragma once

#include <string>
#include <vector>

#include "topology/model/host_model.h"
#include "topology/placement/seats.h"

namespace paceline::topology {

/// A table, a line for each rank, with the sentence that says why. `seats` are of `host`.
std::string seats_text(const HostModel& host, const std::vector<Seat>& seats);
/// The same for programs.
std::string seats_json_text(const HostModel& host, const std::vector<Seat>& seats);

}  // namespace paceline::topology
