#include "comm/host_interfaces.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include <ifaddrs.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "comm/base/net_choice.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"

namespace paceline {
namespace {

// What the kernel answers about one interface by its name. Any user may ask.
class Questions {
 public:
  Questions(int socket, const char* name) : socket_(socket) {
    std::strncpy(request_.ifr_name, name, IFNAMSIZ - 1);
  }

  int mtu() { return ask(SIOCGIFMTU) ? request_.ifr_mtu : 0; }
  int hardware() { return ask(SIOCGIFHWADDR) ? request_.ifr_hwaddr.sa_family : ARPHRD_VOID; }
  std::string driver() {
    ethtool_drvinfo info{.cmd = ETHTOOL_GDRVINFO};
    return ask_driver(&info) ? std::string(info.driver, ::strnlen(info.driver, sizeof info.driver))
                             : std::string();
  }
  // The older of two questions: it needs no list of modes, and every driver answers it.
  std::int64_t speed_mbits() {
    ethtool_cmd settings{.cmd = ETHTOOL_GSET};
    if (!ask_driver(&settings)) return 0;
    const std::uint32_t speed = ethtool_cmd_speed(&settings);
    return speed == static_cast<std::uint32_t>(SPEED_UNKNOWN) ? 0 : speed;
  }

 private:
  bool ask(unsigned long what) { return ::ioctl(socket_, what, &request_) == 0; }
  bool ask_driver(void* question) {
    request_.ifr_data = static_cast<char*>(question);
    return ask(SIOCETHTOOL);
  }

  const int socket_;
  ifreq request_{};
};

InterfaceKind kind_of(unsigned flags, Questions& questions) {
  if ((flags & IFF_LOOPBACK) != 0) return InterfaceKind::kLoopback;
  const std::string driver = questions.driver();
  if (driver == "bridge" || driver == "openvswitch") return InterfaceKind::kBridge;
  const int hardware = questions.hardware();
  const bool is_link = hardware == ARPHRD_ETHER || hardware == ARPHRD_INFINIBAND;
  const bool is_tunnel = !is_link || driver == "tun" || driver == "vxlan" || driver == "geneve";
  return is_tunnel ? InterfaceKind::kTunnel : InterfaceKind::kOrdinary;
}

int bits_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  const bool v6 = mask->sa_family == AF_INET6;
  const auto* const bytes = v6 ? reinterpret_cast<const sockaddr_in6*>(mask)->sin6_addr.s6_addr
                               : reinterpret_cast<const std::uint8_t*>(
                                     &reinterpret_cast<const sockaddr_in*>(mask)->sin_addr);
  int bits = 0;
  for (std::size_t i = 0; i < (v6 ? 16 : 4); ++i) bits += std::popcount(bytes[i]);
  return bits;
}

bool means_something_elsewhere(const sockaddr* address) {
  if (address == nullptr) return false;
  if (address->sa_family != AF_INET6) return address->sa_family == AF_INET;
  return !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

}  // namespace

std::vector<HostInterface> interfaces_of_this_host() {
  ifaddrs* first = nullptr;
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket || ::getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(first, ::freeifaddrs);
  std::vector<HostInterface> found;
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    if (!means_something_elsewhere(entry->ifa_addr)) continue;
    Questions questions(socket.get(), entry->ifa_name);
    constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
    found.push_back({.name = entry->ifa_name,
                     .address = *IpAddress::of(entry->ifa_addr),
                     .prefix_bits = bits_of(entry->ifa_netmask),
                     .mtu = questions.mtu(),
                     .speed_mbits = questions.speed_mbits(),
                     .kind = kind_of(entry->ifa_flags, questions),
                     .is_up = (entry->ifa_flags & kUp) == kUp});
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const HostInterface& one) { return !one.address.is_v6(); });
  return found;
}

std::string describe(const HostInterface& interface) {
  return std::string(interface.name)
      .append(" ")
      .append(interface.address.to_string())
      .append("/")
      .append(std::to_string(interface.prefix_bits));
}

Result<std::string> bind_address_of(const Environment& environment) {
  if (!environment.bind_address.empty()) return environment.bind_address;
  PACELINE_TRY_ASSIGN(const NetChoice choice,
                      NetChoice::choose({.paceline = environment.net,
                                         .nccl = environment.nccl_socket_ifname,
                                         .gloo = environment.gloo_socket_ifname}));
  const bool is_alone = environment.store.starts_with("unix:");
  if (is_alone || !choice.is_stated()) return std::string("127.0.0.1");
  std::string there;
  for (const HostInterface& one : interfaces_of_this_host()) {
    if (one.is_up && choice.takes(one.name, one.address)) return one.address.to_string();
    there.append(there.empty() ? "" : ", ").append(describe(one));
  }
  return Status(Code::kInvalidArgument, Scope::kProcess,
                choice.text() + " selects none of this host's interfaces (" + there + ")");
}

}  // namespace paceline
