// Faults that a user wants during a job: `paceline run --faults FILE`. Pure.
//
//   # a comment
//   after 2.5s: kill rank 3
//   after 2s: stop rank 1 for 3s
//   after 1s: slow rank 2 to 20% for 10s
//   after 1s: signal rank 0 USR1
//   at operation 100: kill rank 3
//   at operation 100 of rank 2: stop host h2
//   after 1s: kill host h2
//   after 1s: fill /scratch on host h2 for 5s
//   at operation 100: exit rank 3 with 7
//   after 1s: delay 20ms from host h1 to h2 for 5s
//   after 1s: drop 0.5% between hosts h1 and h2
//   in restart 1, after 1s: kill rank 0
//
// Times begin when all ranks of the host have started. Operations are those of libpaceline on the
// communicator of all ranks, numbered as in messages ("barrier #3"); without "of rank" those of the
// rank to which it happens. The rank whose operation it is waits there until the fault has
// happened. Without "for" a fault lasts until the ranks of the host have ended. Without "in
// restart" it happens in the first start.
//
// A rank exits by itself, in an operation of libpaceline: after a time in its next one. "between"
// is the same as two lines with "from", one for each direction. It needs a time, since no rank runs
// on both hosts.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

enum class FaultKind : std::uint8_t { kKill, kStop, kSlow, kSignal, kFill, kExit, kDelay, kDrop };

struct FaultSpec {
  int line = 0;
  std::string text;  ///< as it was written
  std::uint32_t restart = 0;
  std::chrono::nanoseconds after{};        ///< if there is no operation
  std::optional<std::uint64_t> operation;  ///< as messages number it
  std::optional<int> watched_rank;         ///< whose operation it is

  FaultKind kind{};
  std::optional<int> rank;           ///< none: the host
  std::string host;                  ///< kDelay, kDrop: from here
  std::chrono::nanoseconds lasts{};  ///< 0: to the end
  double percent = 0;                ///< kSlow: of a CPU's time; kDrop: of the packets
  int signal = 0;                    ///< kSignal
  std::string path;                  ///< kFill: a folder
  int exit_code = 0;                 ///< kExit
  std::string to_host;               ///< kDelay, kDrop
  bool both_ways = false;            ///< kDelay, kDrop: also from to_host
  std::chrono::nanoseconds delay{};  ///< kDelay: of each packet

  bool operator==(const FaultSpec&) const = default;
};

inline constexpr std::size_t kMaxFaults = 1000;

/// An error begins with `file` and the number of the line.
Result<std::vector<FaultSpec>> parse_fault_script(std::string_view text, const std::string& file);

}  // namespace paceline::launcher
