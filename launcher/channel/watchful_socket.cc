#include "launcher/channel/watchful_socket.h"

#include <filesystem>
#include <string>
#include <system_error>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "comm/base/text.h"
#include "comm/socket.h"

namespace paceline::launcher {
namespace {

constexpr int kFirstProbe = 3;  // seconds of silence
constexpr int kBetweenProbes = 1;
constexpr int kProbes =
    std::chrono::duration_cast<std::chrono::seconds>(kSilence).count() - kFirstProbe;

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void be_watchful(int connection) {
  set(connection, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(connection, IPPROTO_TCP, TCP_KEEPIDLE, kFirstProbe);
  set(connection, IPPROTO_TCP, TCP_KEEPINTVL, kBetweenProbes);
  set(connection, IPPROTO_TCP, TCP_KEEPCNT, kProbes);
  // Probes are sent only while nothing waits to be acknowledged.
  using std::chrono::milliseconds;
  set(connection, IPPROTO_TCP, TCP_USER_TIMEOUT,
      static_cast<int>(std::chrono::duration_cast<milliseconds>(kSilence).count()));
}

void be_watchful_to(int port) {
  const std::string ending = std::string(":").append(std::to_string(port));
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", ignored), end; entry != end;
       entry.increment(ignored)) {
    const auto fd = parse_number<int>(entry->path().filename().string());
    if (!fd) continue;
    const Result<SocketAddress> peer = SocketAddress::of_remote_end(*fd);
    if (peer.ok() && peer->to_string().ends_with(ending)) be_watchful(*fd);
  }
}

}  // namespace paceline::launcher
