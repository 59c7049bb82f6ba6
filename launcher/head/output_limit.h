// How long the rest of a job's output may take once somebody wants the job to end.
#pragma once

#include "launcher/head/console.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Belongs to the loop's thread; everything it is given is borrowed.
class OutputLimit {
 public:
  OutputLimit(EventLoop& loop, Console& console) : loop_(loop), console_(console) {}

  /// Stops the loop, with a line that says so, if it still runs some seconds after the end of
  /// `grace`, which is that of the ranks. Of several limits the first one counts.
  void begin(Duration grace);

 private:
  void give_up();

  EventLoop& loop_;
  Console& console_;
  bool given_up_ = false;
};

}  // namespace paceline::launcher
