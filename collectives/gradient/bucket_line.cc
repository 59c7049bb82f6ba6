#include "collectives/gradient/bucket_line.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "comm/completion.h"

namespace paceline {
namespace {

// How many turns ahead are prepared while others are in flight.
constexpr std::size_t kLookAhead = 4;
// About what the work between two operations of a bucket takes at least.
constexpr double kBetweenUs = 1;

double in_us(Duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

void BucketLine::set_buckets(const Schedule& schedule,
                             std::vector<std::unique_ptr<BucketReduction>> buckets) {
  states_.clear();
  std::vector<std::size_t> operations;
  for (const auto& bucket : buckets) operations.push_back(bucket->operations());
  for (auto& reduction : buckets) states_.push_back({.reduction = std::move(reduction)});
  turns_ = turns_of(schedule, operations);
  begin();
}

void BucketLine::begin() {
  for (State& state : states_) {
    state.stage = 0;
    state.has_begun = state.is_worked = state.is_in_flight = false;
    state.sum_of_squares = 0;
  }
  next_turn_ = 0;
  ranks_.reset();
  landed_.clear();
  unfinished_ = states_.size();
}

bool BucketLine::is_finished(std::size_t bucket) const {
  const State& state = states_[bucket];
  return state.stage > state.reduction->operations();
}

double BucketLine::sum_of_squares() const {
  double sum = 0;
  for (const State& state : states_) sum += state.sum_of_squares;
  return sum;
}

bool BucketLine::drive(FunctionRef<bool(std::size_t)> is_ready, StepTally& tally, TimePoint now) {
  if (!failure_.ok()) return false;
  bool moved = land(now);
  if (!failure_.ok()) return true;
  while (start_next(is_ready, now)) moved = true;
  return work(is_ready, tally) || moved;
}

bool BucketLine::land(TimePoint now) {
  bool moved = false;
  while (!in_flight_.empty() && in_flight_.front().completion->has_ended()) {
    const Flight landed = std::move(in_flight_.front());
    in_flight_.pop_front();
    bytes_in_flight_ -= landed.bytes;
    moved = true;
    if (!landed.completion->status.ok()) {
      if (failure_.ok()) failure_ = landed.completion->status;
      continue;
    }
    meter_.add(landed.bytes, in_us(now - std::max(landed.started_at, landed_at_)));
    landed_at_ = now;
    State& state = states_[landed.bucket];
    state.is_in_flight = state.is_worked = false;
    ++state.stage;
    landed_.push_back(landed.bucket);
  }
  return moved;
}

bool BucketLine::has_room(std::size_t bytes) const {
  if (in_flight_.empty()) return true;
  return in_flight_.size() < limits_.operations_in_flight &&
         bytes_in_flight_ + bytes <= limits_.bytes_in_flight;
}

// The first operation goes behind the head at once; to all others, on every rank, it is known.
bool BucketLine::start_next(FunctionRef<bool(std::size_t)> is_ready, TimePoint now) {
  if (next_turn_ == turns_.size() || (next_turn_ > 0 && !ranks_)) return false;
  const Turn turn = turns_[next_turn_];
  State& state = states_[turn.bucket];
  if (state.stage != turn.operation || !state.is_worked || !is_ready(turn.bucket)) return false;
  const std::size_t bytes = state.reduction->plain_bytes(turn.operation);
  if (!has_room(bytes)) return false;
  const bool all_have_data = next_turn_ > 0 && *ranks_ == communicator_.parts().group.size();
  ++next_turn_;
  ++operations_;
  state.is_in_flight = true;
  bytes_in_flight_ += bytes;
  in_flight_.push_back(
      {.bucket = turn.bucket,
       .bytes = bytes,
       .started_at = now,
       .completion = start_(state.reduction->request(turn.operation, all_have_data))});
  return true;
}

// What the next operation waits for comes first, then what has come back, then what is next.
bool BucketLine::work(FunctionRef<bool(std::size_t)> is_ready, StepTally& tally) {
  if (next_turn_ < turns_.size() && work_on(turns_[next_turn_].bucket, is_ready, tally))
    return true;
  for (auto bucket = landed_.begin(); bucket != landed_.end();) {
    if (work_on(*bucket, is_ready, tally)) return true;
    bucket = states_[*bucket].reduction->waits() ? std::next(bucket) : landed_.erase(bucket);
  }
  const std::size_t last = std::min(turns_.size(), next_turn_ + kLookAhead);
  for (std::size_t turn = next_turn_; turn < last; ++turn)
    if (work_on(turns_[turn].bucket, is_ready, tally)) return true;
  return false;
}

bool BucketLine::may_be_worked_on(State& state, bool is_ready) {
  if (!is_ready || state.is_in_flight || state.is_worked || state.reduction->waits()) return false;
  if (state.stage > state.reduction->operations()) return false;
  if (!ranks_ && state.reduction->needs_ranks()) return false;
  if (!std::exchange(state.has_begun, true)) state.reduction->begin();
  return true;
}

bool BucketLine::work_on(std::size_t bucket, FunctionRef<bool(std::size_t)> is_ready,
                         StepTally& tally) {
  State& state = states_[bucket];
  if (!may_be_worked_on(state, is_ready(bucket))) return false;
  const TimePoint begin = communicator_.parts().engine->clock().now();
  const bool is_last = state.stage == state.reduction->operations();
  tally.sum_of_squares = state.sum_of_squares;
  if (state.reduction->work(state.stage, tally)) {
    state.is_worked = !is_last;
    if (is_last) {
      ++state.stage;
      --unfinished_;
    }
  }
  state.sum_of_squares = tally.sum_of_squares;
  own_time_ += communicator_.parts().engine->clock().now() - begin;
  return true;
}

std::vector<Turn> turns_of(const Schedule& schedule, std::span<const std::size_t> operations) {
  std::vector<Turn> turns;
  std::deque<std::pair<Turn, double>> begun;  // buckets' next operations, and when they can begin
  const bool is_unknown = schedule.path == PathCost();
  double free_at = 0;
  for (std::size_t next = 0; next < operations.size() || !begun.empty();) {
    const double fresh_at = next < operations.size()
                                ? std::max(free_at, schedule.buckets[next].ready_us)
                                : std::numeric_limits<double>::infinity();
    const bool goes_on = !begun.empty() && (std::max(free_at, begun.front().second) <= fresh_at ||
                                            (is_unknown && begun.size() > BucketLine::kMostBegun));
    const Turn turn = goes_on ? begun.front().first : Turn{.bucket = next};
    free_at = goes_on ? std::max(free_at, begun.front().second) : fresh_at;
    free_at += schedule.path.of(schedule.buckets[turn.bucket].bytes());
    turns.push_back(turn);
    if (goes_on)
      begun.pop_front();
    else
      ++next;
    if (turn.operation + 1 < operations[turn.bucket])
      begun.emplace_back(Turn{.bucket = turn.bucket, .operation = turn.operation + 1},
                         free_at + kBetweenUs);
  }
  return turns;
}

}  // namespace paceline
