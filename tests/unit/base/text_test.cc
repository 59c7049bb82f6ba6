#include "comm/base/text.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

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

TEST(ListText, NamesAllOrTheFirst) {
  const std::vector<std::string> all{"a", "b", "c", "d"};
  const std::span<const std::string> items(all);
  EXPECT_EQ(list_text({}), "");
  EXPECT_EQ(list_text(items.first(1)), "a");
  EXPECT_EQ(list_text(items.first(2)), "a and b");
  EXPECT_EQ(list_text(items.first(3), 3), "a, b and c");
  EXPECT_EQ(list_text(items, 3), "a, b, c and 1 more");
  EXPECT_EQ(list_text(items, 1), "a and 3 more");
}

TEST(Printable, LeavesWordsAndTakesControls) {
  EXPECT_EQ(printable("größer als\t\x1b[2J\x7f"), "größer als??[2J?");
  EXPECT_EQ(printable("\xf0\x9f\x98\x80\xc3\xa9"), "\xf0\x9f\x98\x80\xc3\xa9");
}

TEST(Printable, TakesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xff\xc0\x80\xed\xa0\x80\xe2\x82"), "????????");
  EXPECT_EQ(printable("\xc2\x9b\xef\xbf\xbf"), "?????") << "a control of two bytes, no character";
}

}  // namespace
}  // namespace paceline
