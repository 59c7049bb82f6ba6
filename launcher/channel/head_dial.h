// How a remote agent comes to its head.
#pragma once

#include <memory>
#include <string>

#include <paceline/status.h>

#include "launcher/channel/channel.h"
#include "launcher/system/event_loop.h"

namespace paceline::launcher {

/// Knocks at all of the invitation's addresses, and goes in where it is answered first. Blocks
/// meanwhile: 3 s where none answers, 10 for each that answers and lets nobody in. The channel must
/// go before the loop; its end waits until the head has read what was sent, for 300 s at most.
///
/// An error names each address and what was wrong with it, or says why the head refuses this agent
/// (Code::kDenied). The process has threads from then on.
Result<std::unique_ptr<HeadChannel>> dial_head(EventLoop& loop,
                                               const messages::Invitation& invitation,
                                               const messages::Seat& seat,
                                               const std::string& version);

}  // namespace paceline::launcher
