#include "launcher/tools/measure/probe/loop/orders.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

using Words = std::vector<std::string>;
using Sizes = std::vector<std::size_t>;

TEST(Orders, WordsAndBack) {
  EXPECT_EQ(to_words(Orders()), Words());
  Orders orders;
  orders.operation = "broadcast";
  orders.type = DataType::kInt64;
  orders.op = ReduceOp::kMax;
  orders.root = 3;
  orders.in_place = false;
  orders.cold = true;
  orders.check = true;
  orders.limits = false;
  orders.low_bytes = 8;
  orders.high_bytes = 1 << 20;
  orders.factor = 4;
  orders.time_ms = 7;
  orders.meeting = "/proc/1/fd/2=3";
  orders.raw = "/a b";
  orders.parts = "reduce+broadcast";
  const Words words = to_words(orders);
  EXPECT_EQ(words.size(), 15u);
  const Result<Orders> parsed = parse_orders(words);
  ASSERT_TRUE(parsed.ok()) << parsed.status().to_string();
  EXPECT_EQ(*parsed, orders);
}

TEST(Orders, RefusesOthers) {
  for (const char* word :
       {"", "type", "type=float", "operation=close", "factor=1", "factor=-2", "cold=1",
        "parts=reduce", "root=-1", "low_bytes=0", "nothing=1", "=x", "time_ms=1s"}) {
    const Result<Orders> parsed = parse_orders(Words{word});
    ASSERT_FALSE(parsed.ok()) << word;
    EXPECT_NE(parsed.status().text().find("'" + std::string(word) + "'"), std::string::npos);
  }
}

Sizes sizes(std::size_t low, std::size_t high, std::size_t factor, DataType type) {
  Orders orders;
  orders.low_bytes = low;
  orders.high_bytes = high;
  orders.factor = factor;
  orders.type = type;
  return orders.sizes();
}

TEST(Orders, SizesAreWholeElements) {
  EXPECT_EQ(sizes(4, 64, 2, DataType::kFloat32), (Sizes{4, 8, 16, 32, 64}));
  EXPECT_EQ(sizes(4, 64, 4, DataType::kInt64), (Sizes{16, 64}));
  EXPECT_EQ(sizes(7, 63, 3, DataType::kInt32), (Sizes{4, 20, 60}));
  EXPECT_EQ(sizes(5, 5, 2, DataType::kFloat32), Sizes{4});
  EXPECT_EQ(sizes(3, 3, 2, DataType::kFloat32), Sizes());
  EXPECT_EQ(sizes(1, 3, 2, DataType::kFloat64), Sizes());
  EXPECT_EQ(sizes(std::size_t{1} << 62, ~std::size_t{0}, 8, DataType::kInt32).size(), 1u);
}

TEST(Orders, ABarrierHasOneSize) {
  Orders orders;
  orders.operation = "barrier";
  EXPECT_EQ(orders.sizes(), Sizes{0});
}

}  // namespace
}  // namespace paceline::probe
