#include "launcher/tools/measure/probe/check/check_orders.h"

#include <string_view>

#include "comm/base/text.h"

namespace paceline::probe {
namespace {

constexpr int kMostMs = 60'000;

struct Number {
  std::string_view name;
  int CheckOrders::*member;
};
constexpr Number kNumbers[] = {
    {"flow_ms", &CheckOrders::flow_ms}, {"ping_ms", &CheckOrders::ping_ms},
    {"spin_ms", &CheckOrders::spin_ms}, {"reduce_ms", &CheckOrders::reduce_ms},
    {"again", &CheckOrders::again},
};
constexpr std::string_view kBothWays = "both_ways";

bool take(std::string_view name, int value, CheckOrders& into) {
  if (value < 0 || value > kMostMs) return false;
  if (name == kBothWays) {
    into.both_ways = value != 0;
    return value <= 1;
  }
  for (const Number& number : kNumbers) {
    if (number.name != name) continue;
    into.*number.member = value;
    return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> to_words(const CheckOrders& orders) {
  std::vector<std::string> words{kCheckMode};
  const auto add = [&words](std::string_view name, int value) {
    words.push_back(std::string(name).append("=").append(std::to_string(value)));
  };
  for (const Number& number : kNumbers) add(number.name, orders.*number.member);
  add(kBothWays, orders.both_ways ? 1 : 0);
  return words;
}

Result<CheckOrders> parse_check_orders(std::span<const std::string> words) {
  CheckOrders orders;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    const auto value = equals == word.npos
                           ? std::nullopt
                           : parse_number<int>(std::string_view(word).substr(equals + 1));
    if (!value || !take(std::string_view(word).substr(0, equals), *value, orders))
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    std::string("'").append(word).append("' is not a setting of a check"));
  }
  return orders;
}

}  // namespace paceline::probe
