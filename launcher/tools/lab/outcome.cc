#include "launcher/tools/lab/outcome.h"

#include <algorithm>
#include <array>
#include <string>

#include <poll.h>
#include <sys/socket.h>

#include "comm/base/text.h"
#include "launcher/system/system.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMaxText = 4000;

}  // namespace

Result<std::pair<UniqueFd, UniqueFd>> make_outcome_sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return system_error("make a pair of sockets");
  return std::pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

// The code, as a byte, and the text behind it: a packet is never empty, which would look like an
// end.
void send_outcome(const UniqueFd& socket, const Status& outcome) {
  std::string packet(1, static_cast<char>(outcome.code()));
  packet += outcome.text().substr(0, kMaxText);
  ::send(socket.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
}

Status receive_outcome(const UniqueFd& socket, Duration patience) {
  pollfd waiting{.fd = socket.get(), .events = POLLIN, .revents = 0};
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(patience).count();
  if (::poll(&waiting, 1, static_cast<int>(milliseconds)) != 1)
    return Status(Code::kTimeout, Scope::kProcess,
                  "a process of the lab has not answered within " + seconds_text(patience));
  std::array<char, kMaxText + 1> packet{};
  const ssize_t got = ::recv(socket.get(), packet.data(), packet.size(), 0);
  if (got <= 0) return Status(Code::kPeerLost, Scope::kProcess, "a process of the lab has ended");
  const auto code = static_cast<Code>(packet[0]);
  if (code == Code::kOk) return Status();
  return Status(code, Scope::kProcess,
                std::string(packet.data() + 1, static_cast<std::size_t>(got - 1)));
}

}  // namespace paceline::launcher
