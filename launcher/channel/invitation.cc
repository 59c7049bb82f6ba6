#include "launcher/channel/invitation.h"

#include <cerrno>
#include <optional>

#include <poll.h>
#include <unistd.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/channel/frame.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

std::string opening() {
  return "exit " + std::to_string(kInputReadByShell) + " # an invitation to a job of paceline\n";
}

Status wrong(const std::string& text) {
  return Status(Code::kInvalidArgument, Scope::kProcess, text);
}

Status await_input(int fd, const Clock& clock, Deadline deadline) {
  pollfd entry{.fd = fd, .events = POLLIN, .revents = 0};
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline.left(clock.now()));
  const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
  if (ready > 0 || (ready < 0 && errno == EINTR)) return Status();
  if (ready < 0) return system_error("wait for standard input");
  return Status(Code::kTimeout, Scope::kProcess,
                "no invitation to a job came on standard input; only `paceline run` starts agents");
}

// Not a byte more than the frame has: what follows is for somebody else to see.
Status read_exactly(int fd, std::size_t bytes, std::string& into, const Clock& clock,
                    Deadline deadline) {
  for (const std::size_t end = into.size() + bytes; into.size() < end;) {
    PACELINE_TRY(await_input(fd, clock, deadline));
    char part[4096];
    const ssize_t got = ::read(fd, part, std::min(sizeof part, end - into.size()));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return system_error("read standard input");
    if (got == 0) return wrong("standard input ended before the invitation to a job");
    into.append(part, static_cast<std::size_t>(got));
  }
  return Status();
}

}  // namespace

Result<std::string> encode_invitation(const messages::Invitation& invitation) {
  PACELINE_TRY_ASSIGN(const std::string frame, encode_frame(invitation.SerializeAsString()));
  return opening() + frame;
}

Result<messages::Invitation> read_invitation(int fd, const Clock& clock, Deadline deadline) {
  std::string line;
  PACELINE_TRY(read_exactly(fd, opening().size(), line, clock, deadline));
  if (line != opening())
    return wrong(
        "standard input does not begin with an invitation to a job: a login script on this host "
        "has read from it; let .bashrc read only if it is interactive");
  std::string header;
  PACELINE_TRY(read_exactly(fd, kFrameHeaderBytes, header, clock, deadline));
  PACELINE_TRY_ASSIGN(const std::size_t length, frame_length(header));
  std::string payload;
  PACELINE_TRY(read_exactly(fd, length, payload, clock, deadline));
  messages::Invitation invitation;
  if (!invitation.ParseFromString(payload) || invitation.version().empty())
    return wrong("standard input has no valid invitation to a job");
  return invitation;
}

Result<messages::Seat> find_seat(const messages::Invitation& invitation, const SeatChoice& choice,
                                 const char* (*lookup)(const char*)) {
  const std::string& variable =
      choice.name_variable.empty() ? choice.position_variable : choice.name_variable;
  if (variable.empty() && invitation.seats_size() == 1) return invitation.seats(0);
  if (variable.empty()) return wrong("the invitation is not for one host");
  const char* const text = lookup(variable.c_str());
  const std::string value = text == nullptr ? "" : text;
  for (int i = 0; i < invitation.seats_size(); ++i) {
    const messages::Seat& seat = invitation.seats(i);
    if (choice.name_variable.empty() ? parse_number<int>(value) == i : seat.host() == value)
      return seat;
  }
  return wrong("the job has no host for " + variable + "='" + printable(value) + "'");
}

std::string versions_differ(std::string_view host, std::string_view agent, std::string_view head) {
  return "host " + std::string(host) + ": the agent is paceline " + printable(agent) +
         ", the head is " + printable(head) + "; install the same build on all hosts";
}

}  // namespace paceline::launcher
