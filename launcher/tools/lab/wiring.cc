#include "launcher/tools/lab/wiring.h"

#include <algorithm>
#include <utility>

namespace paceline::launcher {
namespace {

constexpr std::int64_t kBitsPerByte = 8;
// What may leave at once: half a millisecond's worth, but a few packets at least, as one of them
// must fit whole.
constexpr std::int64_t kBurstsPerSecond = 2000;
constexpr std::int64_t kLeastBurst = 8 * 1024;
// What may wait: ten milliseconds' worth, as in a switch of small buffers; the rest is dropped. In
// a shorter queue than this, a connection's first burst loses so much that it takes long to
// recover: with 64 KiB, transfers of half a second over 50 Mbit/s went at 36.
constexpr std::int64_t kQueuesPerSecond = 100;
constexpr std::int64_t kLeastQueue = 256 * 1024;
constexpr std::int64_t kMostUnit = 64 * 1024;  // the kernel's own
constexpr int kWhole = 100'000;                // thousandths of a percent

// A rate that no link of a lab reaches.
constexpr std::int64_t kUnlimitedBits = 100'000'000'000;

std::int64_t burst(std::int64_t rate_bits) {
  return std::max(kLeastBurst, rate_bits / kBitsPerByte / kBurstsPerSecond);
}
std::int64_t queue(std::int64_t rate_bits) {
  return std::max(kLeastQueue, rate_bits / kBitsPerByte / kQueuesPerSecond);
}

std::string table(const std::string& port, Filter filter) {
  constexpr const char* kNames[] = {"oneway_", "loss_", "long_"};
  return std::string("table netdev ") + kNames[static_cast<std::size_t>(filter)] + port;
}

// Nobody has to ask who has an address. Questions and answers are lost like all else when there is
// trouble, which would make it more than was asked for, and let it last for a second longer.
std::string know(const std::string& address, const std::string& hardware_address,
                 const std::string& device) {
  return "neigh replace " + address + " lladdr " + hardware_address + " dev " + device +
         " nud permanent\n";
}

std::string know_hosts(const LabPlan& plan, int rail, const std::string& device) {
  std::string text;
  for (int host = 0; host < plan.hosts; ++host)
    text += know(lab_address(host, rail), lab_hardware_address(host, rail), device);
  return text;
}

// A chain on the way from the host to the switch (ingress) or back (egress).
std::string chain(const std::string& port, const std::string& hook, const std::string& rule) {
  return "chain " + hook + " { type filter hook " + hook + " device \"" + port +
         "\" priority 0; policy accept; " + rule + "; }; ";
}

}  // namespace

std::string wire_switch(const LabPlan& plan) {
  std::string text = "link set lo up\n";
  for (int rail = 0; rail < plan.rails(); ++rail) {
    const std::string bridge = lab_bridge(rail);
    // A bridge whose MTU nobody has changed takes on that of its smallest port.
    text += "link add " + bridge + " address " + lab_bridge_hardware_address(rail) +
            " type bridge\nlink set " + bridge + " mtu " + std::to_string(kLabMtu - 1) +
            "\nlink set " + bridge + " mtu " + std::to_string(kLabMtu) + " up\naddr add " +
            lab_switch_address(rail) + "/24 dev " + bridge + "\n" + know_hosts(plan, rail, bridge);
  }
  return text;
}

std::string wire_host_to_switch(const LabPlan& plan, int host, pid_t init) {
  std::string text;
  for (int rail = 0; rail < plan.rails(); ++rail) {
    const std::string port = lab_port(host, rail);
    const std::string end = lab_interface(rail) + " address " + lab_hardware_address(host, rail) +
                            " netns " + std::to_string(init) + "\n";
    text += plan.delay == Duration::zero() ? "link add " + port + " type veth peer name " + end
                                           : "link set " + lab_tap(host, rail) + " name " + end;
    text += "link set " + port + " master " + lab_bridge(rail) + " up\n";
  }
  return text;
}

std::string wire_host(const LabPlan& plan, int host) {
  std::string text = "link set lo up\n";
  for (int rail = 0; rail < plan.rails(); ++rail) {
    const std::string device = lab_interface(rail);
    text += "addr add " + lab_address(host, rail) + "/24 dev " + device + "\nlink set " + device +
            " up\n" + know_hosts(plan, rail, device) +
            know(lab_switch_address(rail), lab_bridge_hardware_address(rail), device);
  }
  return text;
}

std::string set_ports(std::span<const std::string> ports, bool up) {
  std::string text;
  for (const std::string& port : ports) text += "link set " + port + (up ? " up\n" : " down\n");
  return text;
}

// What is longer than a burst is taken apart by tbf, packet by packet. Half of one: tbf gets up
// late for each, and what is then more than a burst is lost (a link of 1 Gbit/s went at 0.97 of
// it).
std::string size_units(const std::string& device, std::int64_t rate_bits) {
  const std::int64_t most = rate_bits == 0 ? kMostUnit : std::min(kMostUnit, burst(rate_bits) / 2);
  return "link set " + device + " gso_max_size " + std::to_string(most) + "\n";
}

std::string set_port_mtu(std::span<const std::string> ports, int mtu) {
  std::string text;
  for (const std::string& port : ports)
    text += "link set " + port + " mtu " + std::to_string(mtu) + "\n";
  return text;
}

std::string shape(const std::string& device, std::int64_t rate_bits) {
  const std::string replace = "qdisc replace dev " + device + " root ";
  if (rate_bits == 0) return replace + "noqueue\n";
  return replace + "tbf rate " + std::to_string(rate_bits) + "bit burst " +
         std::to_string(burst(rate_bits)) + " limit " + std::to_string(queue(rate_bits)) + "\n";
}

// Classes of a token bucket hierarchy under the link's own: 1:10 is all else, 1:20 is the peer's.
// What the device had before is taken away first: a discipline of the same kind would keep its
// classes.
std::string shape_peer(const std::string& device, const PeerShape& rates) {
  const std::int64_t link = rates.link_bits > 0 ? rates.link_bits : kUnlimitedBits;
  std::string text = "qdisc replace dev " + device + " root noqueue\nqdisc replace dev " + device +
                     " root handle 1: htb default 10\n";
  const auto add = [&](const char* parent, const char* id, std::int64_t rate) {
    text += "class add dev " + device + " parent " + parent + " classid " + id + " htb rate " +
            std::to_string(rate) + "bit ceil " + std::to_string(rate) + "bit burst " +
            std::to_string(burst(rate)) + " cburst " + std::to_string(burst(rate)) +
            " quantum 1514\n";
  };
  add("1:", "1:1", link);
  add("1:1", "1:10", link);
  add("1:1", "1:20", rates.peer_bits);
  for (const auto& [id, rate] : {std::pair("10", link), std::pair("20", rates.peer_bits)})
    text += "qdisc add dev " + device + " parent 1:" + id + " bfifo limit " +
            std::to_string(queue(rate)) + "\n";
  return text + "filter add dev " + device + " parent 1: protocol ip prio 1 u32 match ip " +
         (rates.is_source ? "src " : "dst ") + rates.peer + "/32 flowid 1:20\n";
}

std::string drop_sent(const std::string& port) {
  return remove_filter(port, Filter::kOneway) + table(port, Filter::kOneway) + " { " +
         chain(port, "ingress", "drop") + "}\n";
}

std::string drop_some(const std::string& port, int loss_thousandths) {
  std::string none = remove_filter(port, Filter::kLoss);
  if (loss_thousandths == 0) return none;
  // nft takes no comparison that is always true.
  const std::string rule = loss_thousandths >= kWhole
                               ? "drop"
                               : "numgen random mod " + std::to_string(kWhole) + " < " +
                                     std::to_string(loss_thousandths) + " drop";
  return none + table(port, Filter::kLoss) + " { " + chain(port, "ingress", rule) +
         chain(port, "egress", rule) + "}\n";
}

std::string drop_long(const std::string& port, int mtu) {
  return remove_filter(port, Filter::kLong) + table(port, Filter::kLong) + " { " +
         chain(port, "ingress", "meta length > " + std::to_string(mtu) + " drop") + "}\n";
}

// nft refuses to delete what is not there, so it is made first.
std::string remove_filter(const std::string& port, Filter filter) {
  return table(port, filter) + "\ndelete " + table(port, filter) + "\n";
}

}  // namespace paceline::launcher
