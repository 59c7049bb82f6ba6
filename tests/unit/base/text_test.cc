#include "comm/base/text.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace paceline {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Numbers, AreAllOfTheText) {
  EXPECT_EQ(parse_number<int>("-12"), -12);
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_EQ(parse_number<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(parse_number<std::uint16_t>("65536"), std::nullopt);
  for (const char* text : {"", " 1", "1 ", "+1", "1.5", "0x1", "one"}) {
    EXPECT_EQ(parse_number<int>(text), std::nullopt) << text;
  }
}

TEST(Seconds, ShowNoMoreThanThereIs) {
  EXPECT_EQ(seconds_text(seconds(10)), "10 s");
  EXPECT_EQ(seconds_text(milliseconds(1500)), "1.5 s");
  EXPECT_EQ(seconds_text(milliseconds(2)), "0.002 s");
  EXPECT_EQ(seconds_text(Duration(1)), "0 s");
}

TEST(Printable, LeavesWordsAndTakesControls) {
  EXPECT_EQ(printable("größer als\t\x1b[2J\x7f"), "größer als??[2J?");
}

}  // namespace
}  // namespace paceline
