// The TCP ports on which a job may listen (PACELINE_PORT_RANGE). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace paceline {

struct PortRange {
  int first = 0;  ///< 0: the kernel chooses the port
  int last = 0;   ///< included

  /// "50000-50999", or "50000" for one port; from 1 to 65535.
  static std::optional<PortRange> parse(std::string_view text);

  bool is_limited() const { return first > 0; }
  std::string to_string() const;
  bool operator==(const PortRange&) const = default;
};

}  // namespace paceline
