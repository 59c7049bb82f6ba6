// Connections that notice when the host at their other end has died or is cut off.
#pragma once

#include "comm/base/clock.h"

namespace paceline::launcher {

/// After this time without a sign of life a host counts as lost. Signs come from its kernel: a
/// process that is stopped there, as by Ctrl-Z, is not lost. So they are TCP's own (tcp(7)), not
/// gRPC's pings, which the process would have to answer.
inline constexpr Duration kSilence = std::chrono::seconds(8);

void be_watchful(int connection);

/// The same for those connections of this process that lead to port `port`: gRPC neither makes its
/// connections watchful nor tells which they are.
void be_watchful_to(int port);

}  // namespace paceline::launcher
