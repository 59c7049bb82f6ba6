#include "topology/model/bus_id.h"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "topology/model/path_kind.h"

namespace paceline::topology {
namespace {

TEST(BusIds, AreReadInEveryForm) {
  const BusId bus{.domain = 0x35, .bus = 0xc1, .device = 3, .function = 1};
  for (const char* text : {"0035:c1:03.1", "00000035:C1:03.1", "35:c1:3.1"})
    EXPECT_EQ(parse_bus_id(text), bus) << text;
  EXPECT_EQ(to_text(bus), "0035:c1:03.1");
  EXPECT_EQ(parse_bus_id("c1:00.0"), (BusId{.bus = 0xc1}));
  EXPECT_EQ(to_text(BusId{.domain = 0x10000}), "10000:00:00.0");
}

TEST(BusIds, RefuseWhatIsNone) {
  for (const char* text :
       {"", ":", "0000:c1:00", "0000:c1:00.", "0000:c1:00.8", "0000:c1:20.0", "0000:100:00.0",
        "123456789:00:00.0", "0000:c1:00.0x", "0000 :c1:00.0", "-1:00.0", "0:0:0:0.0", "c1:00.0:"})
    EXPECT_FALSE(parse_bus_id(text)) << text;
}

TEST(BusIds, ThatAreMadeUpAreKnownAgain) {
  std::set<BusId> all;
  for (unsigned number = 0; number < 126976; ++number) all.insert(made_up_bus_id(number));
  EXPECT_EQ(all.size(), 126976U);
  EXPECT_TRUE(std::ranges::all_of(all, is_made_up));
  EXPECT_EQ(to_text(made_up_bus_id(1)), "ffff:ff:01.0");
  for (const char* const text : {"0000:c1:00.0", "ffff:00:00.0", "10000:ff:00.0", "ffef:ff:00.0"})
    EXPECT_FALSE(is_made_up(parse_bus_id(text).value())) << text;
}

TEST(PathKinds, HaveAWordEach) {
  for (int i = 0; i <= static_cast<int>(PathKind::kNet); ++i) {
    const auto kind = static_cast<PathKind>(i);
    EXPECT_EQ(parse_path_kind(word_of(kind)), kind);
  }
  EXPECT_FALSE(parse_path_kind("nvl"));
}

}  // namespace
}  // namespace paceline::topology
