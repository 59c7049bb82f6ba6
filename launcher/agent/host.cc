#include "launcher/agent/host.h"

#include <array>
#include <cstddef>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "comm/base/unique_fd.h"
#include "launcher/process/system.h"

namespace paceline::launcher {

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  const std::string whole(name.data());
  return whole.substr(0, whole.find('.'));
}

Result<int> free_port() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::bind(socket.get(), generic, size) != 0 ||
      ::getsockname(socket.get(), generic, &size) != 0)
    return system_error("find a free port on 127.0.0.1");
  return ntohs(address.sin_port);
}

}  // namespace paceline::launcher
