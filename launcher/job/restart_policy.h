// Whether and when the ranks of a job are started again after one of them has failed. Pure.
#pragma once

#include <chrono>
#include <deque>
#include <optional>
#include <string>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/options/restart_rules.h"

namespace paceline::launcher {

/// A value.
class RestartPolicy {
 public:
  /// If so many starts in a row end before the first operation, another one would, too.
  static constexpr int kMaxWithoutProgress = 3;

  explicit RestartPolicy(const RestartRules& rules) : rules_(rules) {}

  /// The ranks are started.
  void began(TimePoint now);
  void rank_ended(const messages::RankExited& exited);

  /// None: a restart is allowed. Otherwise the reason, for the end of the failure's message. It is
  /// empty if nobody asked for restarts.
  std::optional<std::string> refusal(TimePoint now);
  /// Counts a restart, which refusal() has allowed now. "restart 2 of 3 in 2 s", where its delay is
  /// at least `least`.
  std::string announcement(TimePoint now, Duration least = Duration::zero());
  /// From the end of all ranks to their next start. It doubles, up to kMaxDelay or the rules'
  /// delay, as long as starts do not last kLongStart.
  Duration delay() const { return delay_; }

  static constexpr Duration kMaxDelay = std::chrono::seconds(60);
  static constexpr Duration kLongStart = std::chrono::seconds(60);

 private:
  bool made_progress() const { return operates_ || !joins_; }

  RestartRules rules_;
  std::deque<TimePoint> restarts_;  // that count
  TimePoint began_{};
  Duration delay_{};
  bool joins_ = false;     // some rank has begun to join the others
  bool operates_ = false;  // some rank has ended an operation
  int without_progress_ = 0;
};

}  // namespace paceline::launcher
