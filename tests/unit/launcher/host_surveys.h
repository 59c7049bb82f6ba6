// Hosts made up for tests: what each would say about itself.
#pragma once

#include <string>
#include <vector>

#include "launcher/connectivity/survey.h"

namespace paceline::launcher {

inline HostInterface interface(const std::string& name, const std::string& address,
                               int prefix_bits = 24, std::int64_t speed_mbits = 1000) {
  return {.name = name,
          .address = *IpAddress::parse(address),
          .prefix_bits = prefix_bits,
          .mtu = 1500,
          .speed_mbits = speed_mbits,
          .kind = name == "lo"                 ? InterfaceKind::kLoopback
                  : name.starts_with("docker") ? InterfaceKind::kBridge
                                               : InterfaceKind::kOrdinary,
          .is_up = true};
}

/// Each a machine of its own that calls itself as the job does.
inline HostSurvey surveyed(const std::string& host, std::vector<HostInterface> interfaces) {
  return {.host = host,
          .own_name = host,
          .machine = "machine of " + host,
          .reached_by = interfaces.empty() ? "" : interfaces.front().address.to_string(),
          .door = 4000,
          .interfaces = std::move(interfaces)};
}

}  // namespace paceline::launcher
