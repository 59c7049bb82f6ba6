// Whether the spawn helper runs, as its agent sees it.
#pragma once

#include <sys/types.h>

#include <paceline/status.h>

#include "launcher/channel/channel.h"
#include "launcher/channel/silence.h"

namespace paceline::launcher {

/// A stopped helper neither passes signals on nor sees ranks end. Belongs to the loop's thread.
class HelperWatch {
 public:
  using Channel = SocketChannel<messages::ToHelper, messages::FromHelper>;

  /// Until then the limits are those of a job without options.
  void begin(const messages::Start& start);
  /// Something came from the helper.
  void heard() { silence_.broken(); }
  /// To be called each kAlivePeriod: tells the helper that the agent runs. Kills `helper` if it has
  /// been silent for too long, and its ranks end with it; the error says so.
  Status look(Channel& channel, pid_t helper);

 private:
  Silence silence_;
  Duration max_silence_ = kMaxSilence;
  Duration max_agent_silence_ = kMaxSilence;
};

}  // namespace paceline::launcher
