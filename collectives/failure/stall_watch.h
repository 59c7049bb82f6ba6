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
  struct Options {
    Duration timeout = std::chrono::seconds(300);      ///< an operation's deadline after its call
    Duration report_every = std::chrono::seconds(30);  ///< without progress
  };

  explicit StallWatch(const Options& options)
      : options_(options), patience_(std::min(kMaxPatience, options.timeout / 4)) {}

  /// How long an answer may take.
  Duration patience() const { return patience_; }

  /// An operation begins that ends at `deadline`.
  void begin(TimePoint now, TimePoint deadline) {
    deadline_ = deadline;
    moved(now);
  }
  /// It has made progress.
  void moved(TimePoint now) {
    interval_ = kFirstInterval;
    last_moved_ = now;
    report_at_ = now + options_.report_every;
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
  void reported(TimePoint now) { report_at_ = now + options_.report_every; }
  Duration stalled_for(TimePoint now) const { return now - last_moved_; }

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

  const Options options_;
  const Duration patience_;
  TimePoint deadline_{};
  TimePoint last_moved_{};
  TimePoint report_at_{};
  TimePoint round_at_{};
  TimePoint round_began_{};
  Duration interval_ = kFirstInterval;
};

}  // namespace paceline
