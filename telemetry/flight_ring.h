// The flight ring: the last operations of a rank, in shared memory that outlives it.
//
// The agent makes the memory (a memfd), the rank inherits and writes it, the agent reads it after
// a crash or in the middle of a hang. The reader may look at any time and skips records that are
// being written (a sequence lock per record, Boehm, MSPC 2012).
//
// Each of a rank's communicators writes to a part of its own: so each part has one writer, and none
// waits for another, whichever thread drives it.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/signature.h"
#include "comm/base/unique_fd.h"
#include "telemetry/operation_book.h"
#include "telemetry/sealed_memory.h"

namespace paceline {

enum class FlightState : std::uint8_t { kStarted, kSucceeded, kFailed };

/// One operation.
struct FlightRecord {
  Signature signature;
  std::int64_t began_ns = 0;  ///< CLOCK_MONOTONIC
  std::int64_t ended_ns = 0;  ///< 0 while it runs
  FlightState state{};
  std::int32_t blamed = -1;    ///< kFailed: the rank that was lost or late; -1: none
  std::string group;           ///< whose operation it is; empty: the world's
  std::uint64_t group_id = 0;  ///< as in GroupOperations
  int group_size = 0;          ///< number of its ranks; 0: not known

  /// "all_reduce(1000 x float32, sum) #12 of split #3, color 0"
  std::string name() const;
  /// "all_reduce(1000 x float32, sum) #12 of split #3, color 0, running for 3.2 s" as of `now`.
  std::string to_string(TimePoint now) const;
};

/// The operations of a group that a rank has called.
struct GroupOperations {
  std::string group;     ///< empty: the world's
  std::uint64_t id = 0;  ///< the same on all its ranks, and that of no other group of the job
  int size = 0;          ///< number of its ranks
  std::vector<OperationTotals> totals;
  std::vector<OperationSample> samples;
};

/// When a rank came to where every rank comes once: CLOCK_MONOTONIC; 0: it has not.
struct FlightMilestones {
  std::int64_t joining_ns = 0;          ///< it began to look for the other ranks
  std::int64_t joined_ns = 0;           ///< and had found them
  std::int64_t first_operation_ns = 0;  ///< its first operation had succeeded

  bool operator==(const FlightMilestones&) const = default;
};

class FlightRing {
 public:
  static constexpr std::uint32_t kRecords = 64;  ///< of a part
  static constexpr std::uint32_t kParts = 16;    ///< the world's, and those of other groups
  static constexpr std::size_t kMostName = 63;   ///< of a group; more is left out

  /// Anonymous shared memory for one ring, to be inherited (it is close-on-exec until cleared).
  static Result<UniqueFd> create_memory();
  /// Maps the ring in `fd`, which stays the caller's, to write the world's part. Refuses memory of
  /// another size or layout.
  static Result<std::unique_ptr<FlightRing>> open(int fd);
  /// The same to write a part of a group of that name, as long as this lives. Code::kUnavailable:
  /// all are taken by groups that live.
  static Result<std::unique_ptr<FlightRing>> open_for(int fd, std::string_view group);
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

  /// Writer: what readers know the group of the part by; see GroupOperations.
  void note_group(std::uint64_t id, int size);
  /// Writer: an operation has succeeded.
  void count(const Signature& signature, const OperationTimes& times);

  /// Writer: the rank begins to look for the others.
  void note_joining(TimePoint began);
  /// Writer: the rank has found the others.
  void note_join(TimePoint began, TimePoint ended);

  /// Reader: the writer waits in start() of the operation of this number, until another call says
  /// otherwise, or kMaxHold has passed. None: it waits nowhere. For faults at an exact operation:
  /// the communicators of the rank make no progress meanwhile, and data may have been sent.
  void hold_at(std::optional<std::uint64_t> operation);
  static constexpr std::chrono::seconds kMaxHold{10};
  /// Reader: the rank ends its process with `exit_code`, by _exit(2), in start() of its next
  /// operation in any part, or in the one where it waits. Cannot be taken back.
  void exit_at_next(int exit_code);

  /// Reader: the records of all parts, oldest first.
  std::vector<FlightRecord> read() const;
  /// Reader: of groups that live, and of those that ended and left their part to no other. None for
  /// a ring in the memory of a process.
  std::vector<GroupOperations> operations() const;
  /// Reader: as far as the rank has come, in this part.
  FlightMilestones milestones() const;

 private:
  struct Part;
  struct Layout;
  FlightRing(Layout* layout, Part* part, OperationBook* book)
      : layout_(layout), part_(part), book_(book) {}
  static SealedLayout layout();
  bool claim_part(std::string_view group);
  std::span<Part> parts() const;

  Layout* layout_;       // null: a part alone
  Part* part_;           // that it writes
  OperationBook* book_;  // of this part; null: a part alone
  bool is_claimed_ = false;
};

}  // namespace paceline
