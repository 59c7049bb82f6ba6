#include "launcher/agent/helper_watch.h"

#include <string>

#include <signal.h>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {

void HelperWatch::begin(const messages::Start& start) {
  if (start.max_silence_ns() > 0) max_silence_ = Duration(start.max_silence_ns());
  max_agent_silence_ = max_agent_silence(max_silence_, !start.output_directory().empty());
}

Status HelperWatch::look(Channel& channel, pid_t helper) {
  messages::ToHelper message;
  message.mutable_alive()->set_max_silence_ns(max_agent_silence_.count());
  if (channel.backlog_bytes() == 0) PACELINE_TRY(channel.send(message));
  if (!silence_.look(max_silence_)) return Status();
  ::kill(helper, SIGKILL);
  return Status(
      Code::kPeerLost, Scope::kProcess,
      "the spawn helper (pid " + std::to_string(helper) + ") has not answered for " +
          seconds_text(max_silence_) +
          ": it is stopped, or its host is overloaded; it and all ranks on this host were killed");
}

}  // namespace paceline::launcher
