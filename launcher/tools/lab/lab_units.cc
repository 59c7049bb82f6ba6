#include "launcher/tools/lab/lab_units.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {
namespace {

constexpr double kLeastRate = 8e3;  // a full packet takes more than a second already
constexpr double kMostRate = 4e11;
constexpr int kLeastMtu = 68;

struct Unit {
  std::string_view name;
  double factor;
};
constexpr std::array<Unit, 4> kRates{{{"gbit", 1e9}, {"mbit", 1e6}, {"kbit", 1e3}, {"bit", 1}}};
// "s" stands last: the others end with it, too.
constexpr std::array<Unit, 3> kTimes{{{"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};

Status wrong(const std::string& text, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(printable(text)) + "' " + why);
}

// The number before the first unit that the text ends with; nothing where there is neither.
template <std::size_t kCount>
std::optional<double> scaled(std::string_view text, const std::array<Unit, kCount>& units) {
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = parse_number<double>(text.substr(0, text.size() - unit.name.size()));
    if (!number || !std::isfinite(*number)) return std::nullopt;
    return *number * unit.factor;
  }
  return std::nullopt;
}

// In the largest unit that makes it 1 or more, or else in the smallest.
template <std::size_t kCount>
std::string text_in(double value, const std::array<Unit, kCount>& units) {
  const Unit* best = nullptr;
  const Unit* smallest = &units[0];
  for (const Unit& unit : units) {
    if (unit.factor < smallest->factor) smallest = &unit;
    if (value >= unit.factor && (best == nullptr || unit.factor > best->factor)) best = &unit;
  }
  if (best == nullptr) best = smallest;
  std::array<char, 32> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", value / best->factor);
  return digits.data() + std::string(best->name);
}

// In thousandths; rounded, so that what is given exactly is kept so.
std::optional<double> thousandths(std::string_view text) {
  const auto number = parse_number<double>(text);
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return std::round(*number * 1000);
}

}  // namespace

Result<std::int64_t> parse_bit_rate(const std::string& text) {
  const auto rate = scaled(text, kRates);
  if (rate && *rate >= kLeastRate && *rate <= kMostRate) return std::llround(*rate);
  return wrong(text,
               "is not a rate from 8kbit to 400gbit; write 1gbit or 300mbit (bits per second)");
}

std::string bit_rate_text(std::int64_t rate_bits) {
  if (rate_bits == 0) return "no limit";
  return text_in(static_cast<double>(rate_bits), kRates);
}

Result<Duration> parse_delay(const std::string& text) {
  const auto delay_ns = scaled(text, kTimes);
  if (delay_ns && *delay_ns >= 0 && *delay_ns <= 60e9) return Duration(std::llround(*delay_ns));
  return wrong(text, "is not a delay of up to 60s; write 200us or 5ms");
}

std::string delay_text(Duration delay) {
  return text_in(static_cast<double>(delay.count()), kTimes);
}

Result<int> parse_loss(const std::string& text) {
  const auto loss = thousandths(text.substr(0, text.size() - (text.ends_with('%') ? 1 : 0)));
  if (loss && *loss >= 0 && *loss <= 100'000) return static_cast<int>(*loss);
  return wrong(text, "is not a percentage from 0 to 100");
}

Result<int> parse_mtu(const std::string& text) {
  const auto mtu = parse_number<int>(text);
  if (mtu && *mtu >= kLeastMtu && *mtu <= kLabMtu) return *mtu;
  return wrong(text, "is not a packet size from " + std::to_string(kLeastMtu) + " to " +
                         std::to_string(kLabMtu) + " bytes");
}

Result<int> parse_cpus(const std::string& text) {
  const auto cpus = thousandths(text);
  if (cpus && *cpus >= 10 && *cpus <= 1'000'000) return static_cast<int>(*cpus);
  return wrong(text, "is not a number of CPUs from 0.01 to 1000");
}

}  // namespace paceline::launcher
