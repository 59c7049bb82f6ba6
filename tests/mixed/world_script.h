// Everything that decides what a world of real ranks does, as a plain value drawn from a seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace paceline::testing::mixed {

struct Ending {
  enum class Kind {
    kNone,
    kKilled,    ///< SIGKILL
    kLeaves,    ///< _exit()
    kExits,     ///< exit(), in a lane's thread
    kAborts,    ///< aborts the communicator of the lane
    kDestroys,  ///< destroys it
  };
  Kind kind = Kind::kNone;
  int rank = 0;  ///< whose it is
  std::size_t lane = 0;
  std::uint64_t act = 0;  ///< before which

  bool is_of_process() const {
    return kind == Kind::kKilled || kind == Kind::kLeaves || kind == Kind::kExits;
  }
  bool operator==(const Ending&) const = default;
};

/// By rank of the world: those of a color form the communicator of the lane, in the order of the
/// keys, then of the ranks.
struct LaneScript {
  bool is_in_c = false;
  std::vector<int> colors, keys;

  bool operator==(const LaneScript&) const = default;
};

struct WorldScript {
  std::uint64_t seed = 1;
  int ranks = 1;
  /// By `paceline run`, each rank in a process of its own. Else from an id.
  bool is_launched = false;
  std::vector<int> process_of;  ///< by rank, from 0 on: ranks of one process are its threads
  std::vector<std::pair<std::string, std::string>> environment;
  std::vector<LaneScript> lanes;
  std::uint64_t acts = 100;  ///< of each lane
  Ending ending;
  std::vector<int> timer_us;       ///< by process: interval of SIGALRM; 0: none
  std::vector<int> fork_permille;  ///< by process: how many acts follow a fork

  int processes() const { return static_cast<int>(timer_us.size()); }
  /// World ranks of the lane's communicator that has this rank, in the order of its ranks.
  std::vector<int> members(std::size_t lane, int rank) const;
  /// The ranks that the ending takes from this lane.
  std::vector<int> victims(std::size_t lane) const;

  bool operator==(const WorldScript&) const = default;
};

/// Pure. The same seed and number of acts give the same script.
WorldScript draw_world(std::uint64_t seed, std::uint64_t acts);
/// For messages; several lines.
std::string to_text(const WorldScript& script);

}  // namespace paceline::testing::mixed
