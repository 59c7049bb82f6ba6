// Whether the process at the other end of a channel runs. It says so each second (messages::Alive);
// one that is stopped or frozen, or that its host has no time for, does not.
#pragma once

#include "comm/base/clock.h"

namespace paceline::launcher {

/// How often a process says that it runs, and how often its peer looks whether it has.
inline constexpr Duration kAlivePeriod = std::chrono::seconds(1);

/// Counts looks, not time: where the process that looks was itself stopped, or its whole host
/// suspended, that is one look, whatever the clocks say. A value.
class Silence {
 public:
  /// Something came from the peer.
  void broken() { looks_ = 0; }
  /// To be called each kAlivePeriod. True from the moment when the peer has been silent for
  /// `patience`.
  bool look(Duration patience) { return ++looks_ > patience / kAlivePeriod; }

 private:
  int looks_ = 0;
};

}  // namespace paceline::launcher
