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

// Agents of several jobs may redirect packets to the same address. The packets pass all of them, in
// the order of their TAP devices: each takes the packets that no later one has marked.
constexpr std::uint32_t kFirstMark = 0x70000000;  // and the index of the TAP device
constexpr std::uint32_t kLastMark = 0x7FFFFFFF;
constexpr int kTapQueue = 10'000;   // frames: a burst of all ranks
constexpr int kBatch = 64;          // frames before others of the loop have their turn
constexpr std::uint64_t kSeed = 1;  // two runs drop the same packets of a sequence
constexpr Duration kRetry = std::chrono::milliseconds(1);
// At the end of a fault the redirect stays until no packet waits, here or in the queues of the
// kernel. A host that sends faster than this process passes on would keep it for ever.
constexpr Duration kSettling = std::chrono::milliseconds(10);
constexpr Duration kMaxSettling = std::chrono::seconds(1);

struct Effect {
  Duration delay{};
  double loss = 0;
};

Status refused(const std::string& why) {
  return Status(Code::kUnavailable, Scope::kOperation, why);
}

// An error with what the step needs of the host.
Status needs(const std::string& what, const Status& failed) {
  return refused(failed.text() + "; this needs " + what);
}

// Frames that are written to the socket leave by `interface`.
Result<UniqueFd> open_packet_socket(const std::string& interface) {
  UniqueFd socket(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return needs("CAP_NET_RAW", system_error("open a packet socket"));
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
  // All frames that are held may leave at once. Root of a user namespace cannot have this.
  constexpr int kRoom = HeldFrames::kMaxBytes;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUFFORCE, &kRoom, sizeof kRoom);
  return socket;
}

Result<UniqueFd> open_tap() {
  Result<UniqueFd> tap = make_tap("paceline%d");
  if (!tap.ok()) return needs(std::string("CAP_NET_ADMIN and ") + kTunFile, tap.status());
  return tap;
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

Status mark_packets(const UniqueFd& socket, std::uint32_t mark) {
  if (::setsockopt(socket.get(), SOL_SOCKET, SO_MARK, &mark, sizeof mark) == 0) return {};
  return needs("CAP_NET_ADMIN", system_error("mark packets"));
}

Result<UniqueFd> make_redirect(const EgressRedirect& redirect) {
  Result<UniqueFd> table = redirect_egress(redirect);
  if (!table.ok())
    return needs("CAP_NET_ADMIN, and nf_tables with fwd and the egress hook (Linux 5.16)",
                 table.status());
  return table;
}

}  // namespace

// All packets that go to one host.
class LinkFaults::Link {
 public:
  struct Parts {
    IpAddress to;
    UniqueFd wire;  // a packet socket
    UniqueFd tap;
    std::string table;
    UniqueFd redirect;  // is closed first, so that no packet is sent to a device that is gone
  };

  static Result<Parts> open(const std::string& interface, const std::string& address) {
    const auto to = IpAddress::parse(address);
    if (!to) return refused("the host has no numeric address");
    if (interface.empty()) return refused("the interface of this host is not known");
    Parts parts{.to = *to, .wire = {}, .tap = {}, .table = {}, .redirect = {}};
    PACELINE_TRY_ASSIGN(parts.wire, open_packet_socket(interface));
    PACELINE_TRY_ASSIGN(parts.tap, open_tap());
    PACELINE_TRY_ASSIGN(parts.table, set_up(parts.tap, parts.wire));
    const unsigned index = ::if_nametoindex(parts.table.c_str());
    PACELINE_TRY(mark_packets(parts.wire, kFirstMark + index));
    const EgressRedirect redirect{.table = parts.table,
                                  .device = interface,
                                  .to = *to,
                                  .first_mark = kFirstMark + index,
                                  .last_mark = kLastMark,
                                  .into_device = static_cast<int>(index)};
    PACELINE_TRY_ASSIGN(parts.redirect, make_redirect(redirect));
    return parts;
  }

  // Calls `overflowed` when the first frame is lost because too many wait.
  Link(EventLoop& loop, Parts parts, std::function<void()> overflowed)
      : clock_(loop.clock()),
        parts_(std::move(parts)),
        overflowed_(std::move(overflowed)),
        driver_(loop, parts_.tap.get(), [this] { return pass_on(); }) {}
  // Frames that still wait leave at once, in their order, unless the buffers of the wire are full.
  // Later packets may overtake them: see close_if_idle().
  ~Link() {
    (void)end_redirect(parts_.redirect, parts_.table);  // else the kernel does, when it is closed
    while (take_in()) {
    }
    held_.let_go(TimePoint::max(), parts_.wire);
  }

  int add(Effect effect) {
    effects_.emplace(++last_effect_, effect);
    return last_effect_;
  }
  void remove(int effect) {
    effects_.erase(effect);
    driver_.drive();
  }
  bool is_idle() const { return effects_.empty(); }
  // Lets frames leave. True: none waits.
  bool drain() {
    driver_.drive();
    return is_empty_;
  }

 private:
  // Without effects all frames leave at once.
  TimePoint pass_on() {
    int taken = 0;
    while (taken < kBatch && take_in()) ++taken;
    const TimePoint now = clock_.now();
    const bool had_room = held_.let_go(is_idle() ? TimePoint::max() : now, parts_.wire);
    is_empty_ = taken < kBatch && !held_.next_due();
    return had_room ? held_.next_due().value_or(TimePoint::max()) : now + kRetry;
  }

  // False: no frame has come. The kernel may send frames of its own to the device.
  bool take_in() {
    const std::string_view frame = read_frame(parts_.tap, buffer_);
    if (frame.empty()) return false;
    if (goes_to(parts_.to, frame) && !is_lost()) hold(frame);
    return true;
  }
  void hold(std::string_view frame) {
    if (held_.hold(frame, clock_.now() + delay())) return;
    if (overflowed_) std::exchange(overflowed_, nullptr)();
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
  std::function<void()> overflowed_;  // until it has been called
  std::map<int, Effect> effects_;
  int last_effect_ = 0;
  Random random_{kSeed};
  FrameBuffer buffer_;
  HeldFrames held_;
  bool is_empty_ = true;
  LoopDriver driver_;
};

LinkFaults::LinkFaults(EventLoop& loop, std::string interface, Warn warn)
    : loop_(loop), interface_(std::move(interface)), warn_(std::move(warn)), timers_(loop) {}

LinkFaults::~LinkFaults() = default;

Status LinkFaults::begin(const messages::Fault& fault) {
  const std::string& address = fault.to_address();
  auto link = links_.find(address);
  if (link == links_.end()) {
    PACELINE_TRY_ASSIGN(Link::Parts parts, Link::open(interface_, address));
    link = links_
               .emplace(address, std::make_unique<Link>(loop_, std::move(parts),
                                                        [=, this] { overflowed(address); }))
               .first;
  }
  constexpr double kWhole = 100;
  const int effect = link->second->add(
      {.delay = Duration(fault.delay_ns()),
       .loss = fault.kind() == messages::Fault::DROP ? fault.percent() / kWhole : 0});
  if (fault.lasts_ns() > 0)
    timers_.after(Duration(fault.lasts_ns()), [=, this] { end(address, effect); });
  return {};
}

void LinkFaults::overflowed(const std::string& address) {
  warn_("more than " + std::to_string(HeldFrames::kMaxBytes >> 20) + " MiB of packets to " +
        address + " wait, so packets are lost; use a shorter delay");
}

void LinkFaults::end(const std::string& address, int effect) {
  links_.at(address)->remove(effect);
  close_if_idle(address, Deadline::after(loop_.clock(), kMaxSettling));
}

void LinkFaults::close_if_idle(const std::string& address, Deadline deadline) {
  timers_.after(kSettling, [=, this] {
    const auto link = links_.find(address);
    if (link == links_.end() || !link->second->is_idle()) return;
    if (link->second->drain() || deadline.passed(loop_.clock().now()))
      links_.erase(link);
    else
      close_if_idle(address, deadline);
  });
}

void LinkFaults::clear() {
  timers_.cancel();
  links_.clear();
}

}  // namespace paceline::launcher
