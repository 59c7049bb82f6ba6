// Limits the time for the rest of a job's output once a user or the resource manager wants the job
// to end.
#pragma once

#include "launcher/head/console.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread. Arguments are borrowed.
class OutputLimit {
 public:
  OutputLimit(EventLoop& loop, Console& console) : loop_(loop), console_(console) {}

  /// Starts the limit: some seconds after `grace`, the grace period of the ranks. If the loop still
  /// runs then, prints a message and stops the loop. The first of several limits counts.
  void begin(Duration grace);
  /// From now on there is no grace to wait for.
  void ranks_have_ended();
  /// Ranks start again.
  void ranks_start() { ranks_ended_ = false; }
  /// The loop has been stopped.
  bool is_over() const { return is_over_; }

 private:
  void give_up();

  EventLoop& loop_;
  Console& console_;
  bool begun_ = false;
  bool ranks_ended_ = false;
  bool given_up_ = false;
  bool is_over_ = false;
};

}  // namespace paceline::launcher
