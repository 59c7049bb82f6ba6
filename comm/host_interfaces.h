// The network interfaces of this host, as the kernel has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/environment.h"
#include "comm/base/ip_address.h"

namespace paceline {

enum class InterfaceKind : std::uint8_t {
  kOrdinary,  ///< a card, or what stands for one
  kTunnel,    ///< what goes through it goes through another one in the end
  kBridge,    ///< of containers or virtual machines, mostly: docker0
  kLoopback,
};

/// An interface with one of its addresses.
struct HostInterface {
  std::string name;
  IpAddress address;
  int prefix_bits = 0;  ///< of the address: those of its network
  int mtu = 0;
  std::int64_t speed_mbits = 0;  ///< as its driver rates it; 0: unknown
  InterfaceKind kind = InterfaceKind::kOrdinary;
  bool is_up = false;  ///< switched on, with a carrier

  bool operator==(const HostInterface&) const = default;
};

/// Each as often as it has addresses; IPv4 first, else in the kernel's order. Without addresses
/// that mean something on their own link alone. Empty where the kernel does not tell.
std::vector<HostInterface> interfaces_of_this_host();

/// Where a rank listens unless somebody told it: the first address that PACELINE_NET (or what
/// stands in for it) takes, else 127.0.0.1, which is also that of a job on one host. An error says
/// what this host has.
Result<std::string> bind_address_of(const Environment& environment);

/// "eth0 10.0.0.1/24", for people.
std::string describe(const HostInterface& interface);

}  // namespace paceline
