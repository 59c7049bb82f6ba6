#include "launcher/agent/helper_watch.h"

#include <string>

#include <signal.h>

#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

constexpr Duration kMaxSilence = std::chrono::seconds(10);

}  // namespace

Status HelperWatch::look(Channel& channel, pid_t helper) {
  messages::ToHelper message;
  message.mutable_alive();
  if (channel.backlog_bytes() == 0) PACELINE_TRY(channel.send(message));
  if (!silence_.look(kMaxSilence)) return Status();
  ::kill(helper, SIGKILL);
  return Status(
      Code::kPeerLost, Scope::kProcess,
      "the spawn helper (pid " + std::to_string(helper) + ") has not answered for " +
          seconds_text(kMaxSilence) +
          ": it is stopped, or its host is overloaded; it and all ranks on this host were killed");
}

}  // namespace paceline::launcher
