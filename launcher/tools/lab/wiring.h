// What the programs ip, tc and nft are told, as text for their standard inputs. Pure: the whole
// network of a lab can be read here, and tested, without one.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <sys/types.h>

#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

// `ip -batch -`

/// Bridges, and the switch's own addresses, for the switch's namespace.
std::string wire_switch(const LabPlan& plan);
/// A link for each rail between the switch and a host whose first process is `init`, as the
/// switch's processes number it: a veth pair, or, with a delay, the devices of relay.h.
std::string wire_host_to_switch(const LabPlan& plan, int host, pid_t init);
/// The ends of these links in the host's namespace.
std::string wire_host(const LabPlan& plan, int host);
/// Takes links of the switch down or up.
std::string set_ports(std::span<const std::string> ports, bool up);
/// What leaves through `device` in one unit, where it carries more than a packet in it, is half
/// of what a link of this rate lets through at once. Of connections that are made from now on.
std::string size_units(const std::string& device, std::int64_t rate_bits);
/// A smaller packet than the other end believes in: longer ones vanish without a word.
std::string set_port_mtu(std::span<const std::string> ports, int mtu);

// `tc -batch -`

/// What leaves through `device` goes at this rate; 0: as fast as it comes.
std::string shape(const std::string& device, std::int64_t rate_bits);

/// The same, but what goes to one address, or comes from it, at another rate, in a queue of its
/// own; both share the link's.
struct PeerShape {
  std::int64_t link_bits = 0;  ///< 0: no limit
  std::string peer;            ///< its address
  std::int64_t peer_bits = 0;
  bool is_source = false;
};
std::string shape_peer(const std::string& device, const PeerShape& rates);

// `nft -f -`

enum class Filter { kOneway, kLoss, kLong };
/// Frames of a host that reach its port are dropped there.
std::string drop_sent(const std::string& port);
/// So many thousandths of a percent of those it sends, and of those it should get.
std::string drop_some(const std::string& port, int loss_thousandths);
/// Those that are longer; a TAP device takes what is longer than its MTU from the other end.
std::string drop_long(const std::string& port, int mtu);
/// Undoes one of them, whether it was there or not.
std::string remove_filter(const std::string& port, Filter filter);

}  // namespace paceline::launcher
