// What a lab is made of, and what everything in it is called. Pure.
//
//            10.77.0.1   10.77.0.2                      hosts h1, h2, …: eth0, on rail 2 eth1
//               eth0        eth0
//                |           |                          a veth pair each, shaped at both ends
//              h1e0        h2e0
//               +--- br0 ----+---- 10.77.0.254          the switch, a network namespace of its own
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"

namespace paceline::launcher {

inline constexpr int kMaxLabHosts = 64;
inline constexpr int kMaxLabRails = 2;
inline constexpr int kLabMtu = 1500;
/// What `paceline lab exec` calls the switch's own namespaces; no host is called so.
inline constexpr const char* kSwitch = "switch";
/// Where hosts see the lab's folder.
inline constexpr const char* kLabFolderInHosts = "/run/paceline-lab";

struct LabPlan {
  std::string name = "lab";
  int hosts = 4;
  int slots = 1;
  /// One for each rail: bits per second of each link, each way; 0: as fast as the machine goes.
  std::vector<std::int64_t> rates_bits{0};
  Duration delay{0};  ///< what a packet from one host to another takes longer
  bool ssh = false;

  int rails() const { return static_cast<int>(rates_bits.size()); }
  /// Many packets at once; the devices of links with a delay take packets only.
  bool carries_units() const { return delay == Duration::zero(); }
  bool operator==(const LabPlan&) const = default;
};

/// Letters, digits and dashes, at most 16: it is part of the names of a folder and of cgroups.
bool is_lab_name(std::string_view word);

// Hosts and rails are counted from 0 here; people count from 1.
std::string lab_host(int host);               ///< "h1"
std::string lab_interface(int rail);          ///< "eth0", as the host calls it
std::string lab_port(int host, int rail);     ///< "h1e0", the same link's end at the switch
std::string lab_tap(int host, int rail);      ///< "h1t0", the host's end before it gets there
std::string lab_bridge(int rail);             ///< "br0"
std::string lab_address(int host, int rail);  ///< "10.77.0.1"
std::string lab_switch_address(int rail);     ///< "10.77.0.254"
std::string lab_hardware_address(int host, int rail);
std::string lab_bridge_hardware_address(int rail);

/// Which host has this name; nothing where none of the plan's has.
std::optional<int> find_lab_host(const LabPlan& plan, std::string_view name);

/// "h1 slots=2" and so on: launcher/options/hostfile.h reads it.
std::string lab_hostfile(const LabPlan& plan);
/// /etc/hosts of every host, and of the switch.
std::string lab_etc_hosts(const LabPlan& plan);

}  // namespace paceline::launcher
