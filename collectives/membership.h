// How the ranks of a communicator are known to what it stands on.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "collectives/algo/selector.h"
#include "comm/runtime.h"

namespace paceline {

struct Membership {
  std::shared_ptr<Runtime> runtime;  ///< null: it was made from parts, and cannot be split
  /// By rank: its number among the processes of the runtime; empty: alike.
  std::vector<int> processes{};
  /// By rank: as the reader of the flight ring knows it; -1: not at all; empty: as `processes`.
  std::vector<int> flight_ranks{};
  /// For people, and for the flight ring: "split #3, color 0"; empty: a world that has none.
  std::string name{};
  /// Measured among the processes of the runtime, the same on all; unset: it is assumed.
  std::optional<PathModel> between_hosts{};

  bool is_world() const { return processes.empty(); }
  int process_of(int rank) const {
    return processes.empty() ? rank : processes[static_cast<std::size_t>(rank)];
  }
  /// Of some of its ranks, in that order.
  Membership part(const std::vector<int>& ranks, const std::string& of_name) const {
    const auto chosen = [&ranks](const std::vector<int>& all) {
      std::vector<int> some;
      for (const int rank : ranks)
        some.push_back(all.empty() ? rank : all[static_cast<std::size_t>(rank)]);
      return some;
    };
    return {.runtime = runtime,
            .processes = chosen(processes),
            .flight_ranks = chosen(flight_ranks),
            .name = name.empty() ? of_name : name + "; " + of_name,
            .between_hosts = between_hosts};
  }
};

}  // namespace paceline
