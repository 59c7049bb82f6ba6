// Watches whether the spawn helper runs. Used by the agent.
#pragma once

#include <sys/types.h>

#include <paceline/status.h>

#include "launcher/channel/channel.h"
#include "launcher/channel/silence.h"

namespace paceline::launcher {

/// A stopped helper does not pass signals on and does not notice that ranks end. Belongs to the
/// loop's thread.
class HelperWatch {
 public:
  using Channel = SocketChannel<messages::ToHelper, messages::FromHelper>;

  /// Sets the limits of the job. Before it is called, the limits are those of a job without
  /// options.
  void begin(const messages::Start& start);
  /// Called for each message of the helper.
  void heard() { silence_.broken(); }
  /// Called every kAlivePeriod: tells the helper that the agent runs. If the helper has been silent
  /// for too long, kills it and returns an error. Its ranks end with it.
  Status look(Channel& channel, pid_t helper);

 private:
  Silence silence_;
  Duration max_silence_ = kMaxSilence;
  Duration max_agent_silence_ = kMaxSilence;
};

}  // namespace paceline::launcher
