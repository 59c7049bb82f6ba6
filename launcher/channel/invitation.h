// What tells a remote agent whose it is, on its standard input.
#pragma once

#include <string>
#include <string_view>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

/// How an agent finds its seat among those of an invitation: by a variable of its environment that
/// has the host's name or the seat's position. Neither: there is but one.
struct SeatChoice {
  std::string name_variable;
  std::string position_variable;
};

/// The exit code of a shell that reads the invitation instead of an agent.
inline constexpr int kInputReadByShell = 113;

/// A line and one frame. The line is a command of shells, by which one that reads it ends. An error
/// where it does not fit into one.
Result<std::string> encode_invitation(const messages::Invitation& invitation);

/// Reads exactly the line and the frame from `fd`, which may be anything that poll(2) takes.
Result<messages::Invitation> read_invitation(int fd, const Clock& clock, Deadline deadline);

Result<messages::Seat> find_seat(const messages::Invitation& invitation, const SeatChoice& choice,
                                 const char* (*lookup)(const char*));

/// "host b: the agent is paceline 0.1.0 (messages …), the head is 0.2.0 (…); …": of build_name().
std::string versions_differ(std::string_view host, std::string_view agent, std::string_view head);

}  // namespace paceline::launcher
