// The flight ring: the last operations of a rank, in shared memory that outlives it.
//
// The agent makes the memory (a memfd), the rank inherits and writes it, the agent reads it after
// a crash or in the middle of a hang. One writer; the reader may look at any time and skips
// records that are being written (a sequence lock per record, Boehm, MSPC 2012).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "comm/base/unique_fd.h"

namespace paceline {

enum class FlightState : std::uint8_t { kStarted, kSucceeded, kFailed };

/// One operation. Plain data: it is what lies in the shared memory.
struct FlightRecord {
  Signature signature;
  std::int64_t began_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t ended_ns = 0;  ///< 0 while it runs
  FlightState state{};
  std::int32_t blamed = -1;  ///< kFailed: the rank that was lost or late; -1: none

  /// "all_reduce(1000 x float32, sum) #12, running for 3.2 s" as of `now`.
  std::string to_string(TimePoint now) const;
};

/// When a rank came to where every rank comes once: CLOCK_MONOTONIC; 0: it has not.
struct FlightMilestones {
  std::int64_t joining_ns = 0;          ///< it began to look for the other ranks
  std::int64_t joined_ns = 0;           ///< and had found them
  std::int64_t first_operation_ns = 0;  ///< its first operation had ended

  bool operator==(const FlightMilestones&) const = default;
};

class FlightRing {
 public:
  static constexpr std::uint32_t kRecords = 64;

  /// Anonymous shared memory for one ring, to be inherited (it is close-on-exec until cleared).
  static Result<UniqueFd> create_memory();
  /// Maps the ring in `fd`, which stays the caller's. Refuses memory of another size or layout.
  static Result<std::unique_ptr<FlightRing>> open(int fd);
  /// A ring in this process's memory, for ranks that have no launcher.
  static std::unique_ptr<FlightRing> create_private();

  ~FlightRing();
  FlightRing(const FlightRing&) = delete;
  FlightRing& operator=(const FlightRing&) = delete;

  /// Writer: notes that an operation has begun; returns its place for what follows.
  std::uint64_t start(const Signature& signature, TimePoint now);
  /// Writer: notes its end. A place that has been overwritten since is left alone.
  /// `blamed` as in FlightRecord.
  void finish(std::uint64_t place, FlightState state, TimePoint now, int blamed = -1);

  /// Writer: the rank has found the others.
  void note_join(TimePoint began, TimePoint ended);

  /// Reader: the records that are there, oldest first.
  std::vector<FlightRecord> read() const;
  /// Reader: as far as the rank has come.
  FlightMilestones milestones() const;

 private:
  struct Layout;
  FlightRing(Layout* layout, bool mapped);

  Layout* layout_;
  bool mapped_;
};

}  // namespace paceline
