#include "launcher/tools/measure/probe/check/check_orders.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

TEST(CheckOrders, WordsComeBack) {
  const CheckOrders orders{.flow_ms = 7, .spin_ms = 0, .again = 3, .both_ways = false};
  const std::vector<std::string> words = to_words(orders);
  EXPECT_EQ(words.front(), kCheckMode);
  EXPECT_EQ(parse_check_orders(std::span(words).subspan(1)).value(), orders);
}

TEST(CheckOrders, AnyOtherWordIsRefused) {
  for (const char* word : {"flow_ms", "flow_ms=", "flow_ms=-1", "flow_ms=60001", "both_ways=2",
                           "slow_ms=1", "=1", ""}) {
    const std::vector<std::string> words{word};
    EXPECT_FALSE(parse_check_orders(words).ok()) << word;
  }
}

}  // namespace
}  // namespace paceline::probe
