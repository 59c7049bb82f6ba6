// When the running operation is looked into: first soon after it last moved, then ever more rarely,
// and a last time shortly before its deadline; and when its user hears of it.
//
// A value: whoever owns it tells it the time.
#pragma once

#include <algorithm>

#include "comm/base/clock.h"

namespace paceline {

class StallWatch {
 public:
  /// `report_every`: without progress.
  explicit StallWatch(Duration report_every) : report_every_(report_every) {}

  /// How long an answer may take.
  Duration patience() const { return patience_; }

  /// An operation begins that was called at that moment and may take no longer than `timeout` from
  /// then on.
  void begin(TimePoint now, TimePoint called_at, Duration timeout) {
    deadline_ = Deadline::after(called_at, timeout).moment();
    queued_ = now - called_at;
    patience_ = std::min(kMaxPatience, timeout / 4);
    moved(now);
  }
  /// It has made progress.
  void moved(TimePoint now) {
    interval_ = kFirstInterval;
    last_moved_ = now;
    report_at_ = now + report_every_;
    plan_round(now);
  }

  bool is_over(TimePoint now) const { return now >= deadline_; }
  bool round_is_due(TimePoint now) const { return now >= round_at_; }
  /// A round of questions begins now.
  void begin_round(TimePoint now) {
    round_began_ = now;
    interval_ = std::min(2 * interval_, kLastInterval);
    plan_round(now);
  }
  /// Never in the middle of a round, whose answers may still come.
  bool report_is_due(TimePoint now) const { return now >= next_report(); }
  void reported(TimePoint now) { report_at_ = now + report_every_; }
  Duration stalled_for(TimePoint now) const { return now - last_moved_; }
  /// How long it waited for earlier operations before it began.
  Duration queued() const { return queued_; }

  /// When something of this becomes due.
  TimePoint wake_at() const { return std::min({deadline_, round_at_, next_report()}); }

 private:
  static constexpr Duration kFirstInterval = std::chrono::milliseconds(200);
  static constexpr Duration kLastInterval = std::chrono::seconds(10);
  static constexpr Duration kMaxPatience = std::chrono::seconds(1);

  TimePoint next_report() const { return std::max(report_at_, round_began_ + patience_); }
  // The last round ends with the deadline.
  void plan_round(TimePoint now) {
    const TimePoint last = deadline_ - patience_;
    round_at_ = now < last ? std::min(now + interval_, last) : TimePoint::max();
  }

  const Duration report_every_;
  Duration patience_ = kMaxPatience;
  TimePoint deadline_{};
  Duration queued_{};
  TimePoint last_moved_{};
  TimePoint report_at_{};
  TimePoint round_at_{};
  TimePoint round_began_{};
  Duration interval_ = kFirstInterval;
};

}  // namespace paceline
