// Detects whether the process at the other end of a channel runs. A running process sends
// messages::Alive every second. A process that is stopped, frozen or without CPU time does not.
#pragma once

#include <chrono>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// The period in which a process sends Alive, and in which its peer checks for it.
inline constexpr Duration kAlivePeriod = std::chrono::seconds(1);

/// The max silence of a running process, unless --max-silence sets another.
inline constexpr Duration kMaxSilence = std::chrono::seconds(10);
/// How much longer a spawn helper waits for its silent agent than the head, which prints the
/// message. Then it kills the ranks.
inline constexpr Duration kAfterTheHead = std::chrono::seconds(20);
/// The time for which a failed write to an output file is repeated before the job ends.
inline constexpr Duration kMaxFileWait = std::chrono::seconds(300);

/// The max silence of an agent. The thread that sends Alive also writes the files of --output-dir,
/// and a hung file system blocks it.
constexpr Duration max_agent_silence(Duration max_silence, bool writes_files) {
  return writes_files ? max_silence + kMaxFileWait : max_silence;
}

/// Counts checks, not time. If the checking process was stopped, or its host was suspended, that
/// counts as one check, whatever the clocks show. A value.
class Silence {
 public:
  /// Called for each message of the peer.
  void broken() { looks_ = 0; }
  /// Called every kAlivePeriod. True once the peer has been silent for `patience`.
  bool look(Duration patience) { return ++looks_ > patience / kAlivePeriod; }

 private:
  int looks_ = 0;
};

}  // namespace paceline::launcher
