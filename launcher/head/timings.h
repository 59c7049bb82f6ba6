// Where the time of a job's start and end went: `paceline run --timings`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// In the order in which a job comes to them.
enum class Stage : std::uint8_t {
  kRead,            ///< the command line, the hostfile and this host's limits have been read
  kAgent,           ///< the agent of a host is there
  kWays,            ///< the ways between hosts have been tried
  kMachines,        ///< hosts have said what machines they are, and the job is planned
  kMeeting,         ///< the first host's agent serves the store
  kStarted,         ///< a rank begins to execute its program
  kJoining,         ///< the rank begins to look for the others (Communicator::init)
  kJoined,          ///< it has found them
  kFirstOperation,  ///< its first operation has ended
  kEnded,           ///< the rank has ended
  kCleared,         ///< nothing of the job is left on a host
};
inline constexpr std::size_t kStages = 11;

/// When the first and the last of all ranks or hosts came to each stage. One thread.
class Timings {
 public:
  /// `begin` is that of the command.
  explicit Timings(TimePoint begin) : begin_(begin) {}

  /// `who`: "rank 3 on host h2", "host h2"; empty where there is but one.
  void came(Stage stage, TimePoint when, std::string_view who = "");

  /// Ranks start again: they come to this stage and those after it anew.
  void forget_from(Stage stage);

  /// A line for each stage that anybody came to, in ms since the begin, and what took the longest
  /// from one stage to the next. No newline at the end.
  std::string table() const;

 private:
  struct Arrivals {
    int count = 0;
    TimePoint first{};
    TimePoint last{};
    std::string last_one;
  };

  std::string longest() const;

  TimePoint begin_;
  std::array<Arrivals, kStages> arrivals_{};
};

}  // namespace paceline::launcher
