#include "topology/model/bus_id.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace paceline::topology {
namespace {

// A hexadecimal number of at most `most` digits that ends where the text or `end` does; it is taken
// off the text.
std::optional<std::uint32_t> take_number(std::string_view& text, char end, std::size_t most) {
  const std::size_t size = std::min(text.find(end), text.size());
  std::uint32_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + size, number, 16);
  if (error != std::errc() || stop != text.data() + size || size > most) return std::nullopt;
  text.remove_prefix(std::min(size + 1, text.size()));
  return number;
}

// 16 domains of 248 buses with 32 devices each. The lower buses are real ones of virtual machines.
constexpr std::uint32_t kLastDomain = 0xffff, kMadeUpDomains = 16;
constexpr unsigned kLastBus = 0xff, kMadeUpBuses = 248, kDevicesOfBus = 32;

}  // namespace

std::optional<BusId> parse_bus_id(std::string_view text) {
  constexpr std::uint32_t kMostDevice = 31, kMostFunction = 7;
  if (text.empty() || text.back() == '.' || text.back() == ':') return std::nullopt;
  std::optional<std::uint32_t> domain = 0;
  if (text.find(':') != text.rfind(':')) domain = take_number(text, ':', 8);
  const auto bus = take_number(text, ':', 2);
  const auto device = take_number(text, '.', 2);
  const auto function = take_number(text, '\0', 1);
  if (!domain || !bus || !device || !function) return std::nullopt;
  if (*device > kMostDevice || *function > kMostFunction) return std::nullopt;
  return BusId{.domain = *domain,
               .bus = static_cast<std::uint8_t>(*bus),
               .device = static_cast<std::uint8_t>(*device),
               .function = static_cast<std::uint8_t>(*function)};
}

std::string to_text(const BusId& bus) {
  char text[24];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", bus.domain, unsigned{bus.bus},
                unsigned{bus.device}, unsigned{bus.function});
  return text;
}

BusId made_up_bus_id(unsigned number) {
  const unsigned bus = number / kDevicesOfBus;
  return {.domain = kLastDomain - bus / kMadeUpBuses % kMadeUpDomains,
          .bus = static_cast<std::uint8_t>(kLastBus - bus % kMadeUpBuses),
          .device = static_cast<std::uint8_t>(number % kDevicesOfBus)};
}

bool is_made_up(const BusId& bus) {
  return bus.domain <= kLastDomain && kLastDomain - bus.domain < kMadeUpDomains &&
         kLastBus - bus.bus < kMadeUpBuses;
}

}  // namespace paceline::topology
