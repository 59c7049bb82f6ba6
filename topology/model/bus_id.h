// Where a device is on the PCI buses of its host, as the kernel writes it: 0000:c1:00.0.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::topology {

/// A value. Domain, bus, device (5 bits) and function (3 bits) of PCI Local Bus 3.0, section 3.2.
struct BusId {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  auto operator<=>(const BusId&) const = default;
};

/// Also with a domain of eight digits, as NVML writes it, or with none, in either case of letters.
/// Nothing where it is no such address.
std::optional<BusId> parse_bus_id(std::string_view text);
/// In lower case, the domain with four digits or, where it needs them, more.
std::string to_text(const BusId& bus);

/// Addresses that writers make up where a format wants one and no source states one. They count
/// down from ffff:ff:00.0, where no device is, and readers drop them again. `number` is below
/// 126976.
BusId made_up_bus_id(unsigned number);
bool is_made_up(const BusId& bus);

}  // namespace paceline::topology
