// Whether the process at the other end of a channel runs. It says so each second (messages::Alive);
// one that is stopped or frozen, or that its host has no time for, does not.
#pragma once

#include <chrono>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// How often a process says that it runs, and how often its peer looks whether it has.
inline constexpr Duration kAlivePeriod = std::chrono::seconds(1);

/// The longest silence of a process that runs, unless the job has another one (--max-silence).
inline constexpr Duration kMaxSilence = std::chrono::seconds(10);
/// How long the write of an output file is repeated before the job ends.
inline constexpr Duration kMaxFileWait = std::chrono::seconds(300);

/// The longest silence of an agent. The thread that says that it runs also writes the files of
/// --output-dir, and a system call on a hung file system blocks it.
constexpr Duration max_agent_silence(Duration max_silence, bool writes_files) {
  return writes_files ? max_silence + kMaxFileWait : max_silence;
}

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
