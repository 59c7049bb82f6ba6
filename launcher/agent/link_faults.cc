#include "launcher/agent/link_faults.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "comm/base/ip_address.h"
#include "comm/base/random.h"
#include "comm/base/try.h"
#include "launcher/system/egress_redirect.h"
#include "launcher/system/loop_driver.h"
#include "launcher/system/system.h"
#include "launcher/system/tap.h"

namespace paceline::launcher {
namespace {

constexpr std::uint32_t kMark = 0x7061636C;  // "pacl"
constexpr int kTapQueue = 10'000;            // frames: a burst of all ranks
constexpr int kBatch = 64;                   // frames before others of the loop have their turn
constexpr std::uint64_t kSeed = 1;           // two runs drop the same packets of a sequence

struct Effect {
  Duration delay{};
  double loss = 0;
};

Status refused(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kOperation, why);
}

// What this process writes to it leaves by `interface`, marked.
Result<UniqueFd> open_packet_socket(const std::string& interface) {
  UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return system_error("open a packet socket");
  ifreq request{};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  if (::ioctl(socket.get(), SIOCGIFHWADDR, &request) != 0)
    return system_error("look at the interface " + interface);
  if (request.ifr_hwaddr.sa_family != ARPHRD_ETHER)
    return refused("the interface " + interface + " is not Ethernet");
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(::if_nametoindex(interface.c_str()));
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return system_error("bind a packet socket to " + interface);
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_MARK, &kMark, sizeof kMark) != 0)
    return system_error("mark packets");
  return socket;
}

// `socket`: any, to ask the kernel by. Returns the name of the device.
Result<std::string> set_up(const UniqueFd& tap, const UniqueFd& socket) {
  ifreq request{};
  if (::ioctl(tap.get(), TUNGETIFF, &request) != 0) return system_error("look at a TAP device");
  request.ifr_qlen = kTapQueue;
  if (::ioctl(socket.get(), SIOCSIFTXQLEN, &request) != 0)
    return system_error("set the queue of a TAP device");
  request.ifr_flags = IFF_UP | IFF_NOARP;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    return system_error("set up a TAP device");
  return std::string(request.ifr_name);
}

}  // namespace

// All that goes to one host.
class LinkFaults::Link {
 public:
  struct Parts {
    IpAddress to;
    UniqueFd wire;  // a packet socket
    UniqueFd tap;
    UniqueFd redirect;  // goes first, so that no packet is sent to a device that is gone
  };

  static Result<Parts> open(const std::string& interface, const std::string& address) {
    const auto to = IpAddress::parse(address);
    if (!to) return refused("the host has no numeric address");
    if (interface.empty()) return refused("the interface of this host is not known");
    Parts parts{.to = *to, .wire = {}, .tap = {}, .redirect = {}};
    PACELINE_TRY_ASSIGN(parts.wire, open_packet_socket(interface));
    PACELINE_TRY_ASSIGN(parts.tap, make_tap("paceline%d"));
    PACELINE_TRY_ASSIGN(const std::string name, set_up(parts.tap, parts.wire));
    PACELINE_TRY_ASSIGN(
        parts.redirect,
        redirect_egress({.table = name,
                         .device = interface,
                         .to = *to,
                         .except_mark = kMark,
                         .into_device = static_cast<int>(::if_nametoindex(name.c_str()))}));
    return parts;
  }

  Link(EventLoop& loop, Parts parts)
      : clock_(loop.clock()),
        parts_(std::move(parts)),
        driver_(loop, parts_.tap.get(), [this] { return pass_on(); }) {}
  // Frames that still wait leave at once, in their order.
  ~Link() {
    parts_.redirect.reset();
    while (take_in()) {
    }
    held_.let_go(TimePoint::max(), parts_.wire);
  }

  int add(Effect effect) {
    effects_.emplace(++last_effect_, effect);
    return last_effect_;
  }
  void remove(int effect) { effects_.erase(effect); }
  bool is_idle() const { return effects_.empty(); }

 private:
  TimePoint pass_on() {
    for (int i = 0; i < kBatch && take_in(); ++i) {
    }
    held_.let_go(clock_.now(), parts_.wire);
    return held_.next_due().value_or(TimePoint::max());
  }

  // False: no frame has come. The kernel may send frames of its own to the device.
  bool take_in() {
    const std::string_view frame = read_frame(parts_.tap, buffer_);
    if (frame.empty()) return false;
    if (goes_to(parts_.to, frame) && !is_lost()) held_.hold(frame, clock_.now() + delay());
    return true;
  }
  bool is_lost() {
    return std::ranges::any_of(effects_,
                               [this](const auto& one) { return random_.chance(one.second.loss); });
  }
  Duration delay() const {
    Duration sum{};
    for (const auto& [number, effect] : effects_) sum += effect.delay;
    return sum;
  }

  const Clock& clock_;
  Parts parts_;
  std::map<int, Effect> effects_;
  int last_effect_ = 0;
  Random random_{kSeed};
  FrameBuffer buffer_;
  HeldFrames held_;
  LoopDriver driver_;
};

LinkFaults::LinkFaults(EventLoop& loop, std::string interface)
    : loop_(loop), interface_(std::move(interface)), timers_(loop) {}

LinkFaults::~LinkFaults() = default;

Status LinkFaults::begin(const messages::Fault& fault) {
  const std::string& address = fault.to_address();
  auto link = links_.find(address);
  if (link == links_.end()) {
    PACELINE_TRY_ASSIGN(Link::Parts parts, Link::open(interface_, address));
    link = links_.emplace(address, std::make_unique<Link>(loop_, std::move(parts))).first;
  }
  constexpr double kWhole = 100;
  const int effect = link->second->add(
      {.delay = Duration(fault.delay_ns()),
       .loss = fault.kind() == messages::Fault::DROP ? fault.percent() / kWhole : 0});
  if (fault.lasts_ns() > 0)
    timers_.after(Duration(fault.lasts_ns()), [=, this] { end(address, effect); });
  return {};
}

void LinkFaults::end(const std::string& address, int effect) {
  const auto link = links_.find(address);
  link->second->remove(effect);
  if (link->second->is_idle()) links_.erase(link);
}

void LinkFaults::clear() {
  timers_.cancel();
  links_.clear();
}

}  // namespace paceline::launcher
