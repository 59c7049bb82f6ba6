// How the processes of a lab tell each other whether a step went well: one packet per Status.
#pragma once

#include <utility>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"

namespace paceline::launcher {

/// Two ends, both close-on-exec.
Result<std::pair<UniqueFd, UniqueFd>> make_outcome_sockets();

/// Nobody may listen any more: that is not this side's trouble.
void send_outcome(const UniqueFd& socket, const Status& outcome);

/// What the other side has sent; kPeerLost where it has ended without a word, kTimeout after
/// `patience`.
Status receive_outcome(const UniqueFd& socket, Duration patience);

}  // namespace paceline::launcher
