// What rank 0 of a job says to `paceline bench gradient`, and how all its ranks wait for their
// turn.
#pragma once

#include <string>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "comm/base/clock.h"

namespace paceline::probe {

/// A value; the communicator outlives it.
class TurnTaking {
 public:
  /// `patience`: for how long others may take their turns.
  TurnTaking(Communicator& world, Duration patience) : world_(world), patience_(patience) {}

  /// A line of gradient_rows.h, from rank 0.
  void say(const std::string& line) const;
  /// Collective. Others measure meanwhile; who waits for rank 0 sleeps.
  Status pass_and_await() const;

 private:
  Communicator& world_;
  Duration patience_;
};

}  // namespace paceline::probe
