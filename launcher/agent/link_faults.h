// Delays and drops packets that this host sends to other hosts (options/fault_script.h).
//
//   rank -> eth0 - system/egress_redirect.h -> TAP device -> this process -> packet socket -> eth0
//
// The packet socket marks its packets, and they leave by eth0 and its queueing disciplines as they
// would have done before. The kernel removes everything when this process closes the descriptors,
// or is killed. While this process is stopped, all packets to the address wait and then are lost.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/channel/messages.pb.h"
#include "launcher/system/event_loop.h"
#include "launcher/system/timer_group.h"

namespace paceline::launcher {

/// Belongs to the loop's thread.
class LinkFaults {
 public:
  using Warn = std::function<void(const std::string& text)>;

  /// `interface` has the address of this host. `warn` is called when more packets wait than can be
  /// held, once for each link.
  LinkFaults(EventLoop& loop, std::string interface, Warn warn);
  ~LinkFaults();

  /// Begins a fault of kind DELAY or DROP. It ends by itself after its time. Several faults of a
  /// link add up.
  Status begin(const messages::Fault& fault);
  /// Ends all at once.
  void clear();

 private:
  class Link;
  void overflowed(const std::string& address);
  void end(const std::string& address, int effect);
  void close_if_idle(const std::string& address, Deadline deadline);

  EventLoop& loop_;
  const std::string interface_;
  const Warn warn_;
  std::map<std::string, std::unique_ptr<Link>> links_;  // by the address of the other host
  TimerGroup timers_;
};

}  // namespace paceline::launcher
