#include "comm/base/port_range.h"

#include <algorithm>
#include <cstddef>

#include "comm/base/text.h"

namespace paceline {

std::optional<PortRange> PortRange::parse(std::string_view text) {
  constexpr int kMaxPort = 65535;
  const std::size_t dash = std::min(text.find('-'), text.size());
  const auto first = parse_number<int>(text.substr(0, dash));
  const auto last = dash == text.size() ? first : parse_number<int>(text.substr(dash + 1));
  if (!first || !last || *first < 1 || *last < *first || *last > kMaxPort) return std::nullopt;
  return PortRange{.first = *first, .last = *last};
}

std::string PortRange::to_string() const {
  return std::to_string(first) + "-" + std::to_string(last);
}

}  // namespace paceline
