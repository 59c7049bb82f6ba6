// The buckets of a step on their way: each is worked on, travels, is worked on again. All ranks
// start the same operations in one order, which is settled before the step; when each begins is a
// matter of when its gradients are ready here.
//
//   bucket 0   [work 0][ operation 0 ]   [work 1]
//   bucket 1        [work 0]          [ operation 0 ][work 1]
//
// Operations of a communicator run one after another, so some wait in its queue: the wire does not
// idle while the next is prepared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <paceline/status.h>

#include "collectives/gradient/bucket_reduction.h"
#include "collectives/gradient/path_meter.h"
#include "collectives/gradient/schedule.h"
#include "collectives/held_communicator.h"
#include "comm/base/clock.h"

namespace paceline {

/// One operation of a step.
struct Turn {
  std::size_t bucket = 0;
  std::size_t operation = 0;  ///< of that bucket

  bool operator==(const Turn&) const = default;
};

/// Everything with the engine's baton held.
class BucketLine {
 public:
  struct Limits {
    std::size_t bytes_in_flight = SIZE_MAX;  ///< one operation is always in flight
    std::size_t operations_in_flight = 4;
  };
  /// While it is not known how long operations take: a bucket's next operation comes after the
  /// first ones of so many other buckets at most.
  static constexpr std::size_t kMostBegun = 3;

  /// Starts the operation of a bucket. The request is borrowed.
  using Start = std::function<std::shared_ptr<const Completion>(const OperationRequest& request)>;
  /// `communicator` is borrowed.
  BucketLine(HeldCommunicator& communicator, const Limits& limits, Start start)
      : communicator_(communicator), limits_(limits), start_(std::move(start)) {}

  /// Between steps: what travels, a reduction for each of the schedule's buckets.
  void set_buckets(const Schedule& schedule, std::vector<std::unique_ptr<BucketReduction>> buckets);
  /// A step begins.
  void begin();

  /// What went before the first operation has ended: from now on the wire is its own. So many
  /// ranks have data.
  void head_has_landed(int ranks, TimePoint now) {
    ranks_ = ranks;
    landed_at_ = now;
  }

  /// Does some work, starts what may be started, and sees what has ended; true if anything moved.
  bool drive(FunctionRef<bool(std::size_t bucket)> is_ready, StepTally& tally, TimePoint now);

  bool is_finished(std::size_t bucket) const;
  bool is_done() const { return unfinished_ == 0; }
  /// The sum of squares of all reduced elements of this step, if it is requested. It is added
  /// bucket by bucket, so that its bits do not depend on the order in which buckets were processed.
  double sum_of_squares() const;
  /// Why an operation has failed: nothing moves any more.
  const Status& failure() const { return failure_; }
  /// No operation uses memory any more; also after a failure.
  bool is_still() const {
    return std::ranges::all_of(in_flight_,
                               [](const Flight& one) { return one.completion->has_ended(); });
  }

  /// Of the operations since it was asked to forget: what each took for its plain_bytes().
  PathMeter& meter() { return meter_; }
  std::uint64_t operations() const { return operations_; }
  Duration own_time() const { return own_time_; }

 private:
  struct State {
    std::unique_ptr<BucketReduction> reduction;
    std::size_t stage = 0;   // of work; beyond the last one it is finished
    bool has_begun = false;  // its gradients are ready, and it knows
    bool is_worked = false;  // the work of this stage is done
    bool is_in_flight = false;
    double sum_of_squares = 0;
  };
  struct Flight {
    std::size_t bucket = 0;
    std::size_t bytes = 0;  // as plain ones
    TimePoint started_at{};
    std::shared_ptr<const Completion> completion;
  };

  bool land(TimePoint now);
  bool start_next(FunctionRef<bool(std::size_t)> is_ready, TimePoint now);
  bool work(FunctionRef<bool(std::size_t)> is_ready, StepTally& tally);
  bool work_on(std::size_t bucket, FunctionRef<bool(std::size_t)> is_ready, StepTally& tally);
  bool may_be_worked_on(State& state, bool is_ready);
  bool has_room(std::size_t bytes) const;

  HeldCommunicator& communicator_;
  const Limits limits_;
  const Start start_;
  std::vector<State> states_;
  std::vector<Turn> turns_;
  std::size_t next_turn_ = 0;
  std::optional<int> ranks_;        // that have data in this step, once it is known
  std::size_t unfinished_ = 0;      // buckets
  std::deque<std::size_t> landed_;  // buckets that have come back, and may want work
  std::deque<Flight> in_flight_;
  std::size_t bytes_in_flight_ = 0;
  TimePoint landed_at_{};  // when the last one had ended
  Status failure_;
  PathMeter meter_;
  std::uint64_t operations_ = 0;
  Duration own_time_{};
};

/// The order of a step's operations, for buckets that take so many each: whichever can begin first
/// by the schedule's ready times and path, of such as can begin alike the oldest bucket's. What
/// follows an operation of the same bucket can begin a little after that has ended, as there is
/// work between. Without times see BucketLine::kMostBegun.
std::vector<Turn> turns_of(const Schedule& schedule, std::span<const std::size_t> operations);

}  // namespace paceline
