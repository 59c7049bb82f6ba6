// The flight rings of this agent's ranks: where each is, while it runs and afterwards.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "comm/base/clock.h"
#include "telemetry/flight_ring.h"

namespace paceline::launcher {

/// Any thread: the store's asks while the agent's enters.
class FlightBook {
 public:
  /// The clock is borrowed.
  explicit FlightBook(const Clock& clock) : clock_(clock) {}

  void enter(int rank, std::unique_ptr<FlightRing> ring);
  /// The operation in which the rank is, else the last one: "barrier #3, running for 2.1 s". Empty
  /// if it is unknown or has begun none.
  std::string last_operation(int rank) const;
  /// A rank is here in a communicator.
  struct Place {
    FlightRecord record;      ///< of the oldest operation that runs, else of the last one
    std::uint64_t calls = 0;  ///< collective operations that have begun
  };
  struct Position {
    std::optional<FlightRecord> last;  ///< that last_operation() is about; none where that is empty
    std::vector<Place> places;         ///< communicators of which the ring has records
  };
  /// Where the rank is; nothing of an unknown one.
  Position position(int rank) const;
  /// The number of the last operation on the communicator of all ranks that it has begun.
  std::optional<std::uint64_t> last_begun(int rank) const;
  /// See FlightRing::hold_at().
  void hold_at(int rank, std::optional<std::uint64_t> operation);
  /// See FlightRing::exit_at_next().
  void exit_at_next(int rank, int exit_code);
  /// The rank on which its last operation failed, as its own library saw it.
  std::optional<int> blamed(int rank) const;
  /// How far it has come; zeros if it is unknown.
  FlightMilestones milestones(int rank) const;
  /// The operations that the rank has called; empty if the rank is unknown.
  std::vector<GroupOperations> operations(int rank) const;
  /// The answer to a live entry of the store, comm/store_keys.h; empty if it is another's.
  std::string answer(std::string_view key) const;

 private:
  std::vector<FlightRecord> records_of(int rank) const;

  const Clock& clock_;
  mutable std::mutex mutex_;  // guards the map, whose rings may be read at any time
  std::unordered_map<int, std::unique_ptr<FlightRing>> rings_;
};

}  // namespace paceline::launcher
