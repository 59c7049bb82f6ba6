#include "launcher/options/option_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string_view>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/socket.h"
#include "launcher/channel/silence.h"

namespace paceline::launcher {
namespace {

constexpr double kMaxSeconds = 366.0 * 24 * 3600;
constexpr Duration kMinMaxSilence = 2 * kAlivePeriod;

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array<TimeUnit, 6> kTimeUnits = {
    {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}, {"d", 86400}}};

Status wrong(const std::string& text, const std::string& why) {
  return usage_error("'" + text + "' " + why);
}

}  // namespace

Status usage_error(const std::string& text) {
  return Status(Code::kInvalidArgument, Scope::kOperation, text);
}

Result<int> parse_count(const std::string& text) {
  const auto count = parse_number<int>(text);
  if (count && *count >= 1 && *count <= kMaxRanks) return *count;
  return wrong(text, "is not a whole number from 1 to " + std::to_string(kMaxRanks));
}

Result<int> parse_restarts(const std::string& text) {
  const auto count = parse_number<int>(text);
  if (count && *count >= 0 && *count <= kMaxRestarts) return *count;
  return wrong(text, "is not a whole number from 0 to " + std::to_string(kMaxRestarts));
}

Result<std::chrono::nanoseconds> parse_seconds(const std::string& text) {
  const std::size_t end = text.find_last_of("0123456789.") + 1;  // 0: there is no digit
  const std::string_view unit = std::string_view(text).substr(end);
  const auto* const known = std::ranges::find(kTimeUnits, unit, &TimeUnit::name);
  const auto number = parse_number<double>(text.substr(0, end));
  const double seconds = known == kTimeUnits.end() ? -1 : number.value_or(-1) * known->seconds;
  if (!(seconds >= 0 && seconds <= kMaxSeconds))
    return wrong(text, "is not a time from 0 to a year; write seconds, or 500ms, 90s, 15m, 2h, 1d");
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

Result<std::chrono::nanoseconds> parse_max_silence(const std::string& text) {
  PACELINE_TRY_ASSIGN(const auto silence, parse_seconds(text));
  if (silence < kMinMaxSilence) return wrong(text, "is too short: use 2 s or more");
  return silence;
}

Result<EnvironmentSetting> parse_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  EnvironmentSetting setting{.name = text.substr(0, equals), .value = std::nullopt};
  if (setting.name.empty()) return wrong(text, "names no variable; write -x NAME=value");
  if (equals != std::string::npos) setting.value = text.substr(equals + 1);
  return setting;
}

Result<std::string> parse_control(const std::string& text) {
  const Result<SocketAddress> address = SocketAddress::parse(text);
  if (address.ok() && !address->is_unix()) return text;
  return wrong(text, "is not a numeric address with a port, like 10.0.0.1:7000 or [::]:0");
}

Result<std::string> parse_page_address(const std::string& text) {
  const std::optional<int> port = parse_number<int>(text);
  const std::string whole = port ? "127.0.0.1:" + text : text;
  const Result<SocketAddress> address = SocketAddress::parse(whole);
  if (address.ok() && !address->is_unix()) return whole;
  return wrong(text,
               "is neither a port, like 9400, nor a numeric address with a port, like "
               "10.0.0.1:9400 or [::]:0");
}

Result<double> parse_peak_flops(const std::string& text) {
  const auto flops = parse_number<double>(text);
  if (flops && std::isfinite(*flops) && *flops > 0) return *flops;
  return wrong(text, "is not a number of FLOP/s above 0, like 312e12");
}

Result<Ablation> parse_ablation(const std::string& text) {
  const auto ablation = Ablation::parse(text);
  if (ablation) return *ablation;
  return wrong(text, "is not allowed; use comm, input or comm,input");
}

Result<std::optional<int>> parse_stdin_rank(const std::string& text) {
  if (text == "none") return std::optional<int>();
  const auto rank = parse_number<int>(text);
  if (rank && *rank >= 0 && *rank < kMaxRanks) return rank;
  return wrong(text, "is neither a rank nor 'none'");
}

}  // namespace paceline::launcher
