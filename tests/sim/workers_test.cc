// Items are done once each, and a failure or a crash anywhere is a failure of the whole.

#include "tests/sim/workers.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace paceline::testing {
namespace {

TEST(Workers, DoEveryItemOnce) {
  for (const int workers : {1, 2, 3}) {
    Counters counters{};
    EXPECT_TRUE(run_workers({.workers = workers, .items = 10}, counters,
                            [](std::uint64_t item, Counters& into) {
                              into[item] += 1;
                              return true;
                            }));
    for (std::size_t item = 0; item < counters.size(); ++item) {
      EXPECT_EQ(counters[item], item < 10 ? 1u : 0u) << item;
    }
  }
}

TEST(Workers, StopAfterTheirMostFailures) {
  Counters counters{};
  EXPECT_FALSE(run_workers({.workers = 2, .items = 100, .most_failures = 3}, counters,
                           [](std::uint64_t, Counters& into) {
                             into[0] += 1;
                             return false;
                           }));
  EXPECT_EQ(counters[0], 6u);
}

TEST(Workers, AWorkerThatDiesIsNamedWithItsItem) {
  Counters counters{};
  ::testing::internal::CaptureStdout();
  EXPECT_FALSE(
      run_workers({.workers = 2, .items = 10}, counters, [](std::uint64_t item, Counters&) {
        if (item == 7) std::_Exit(42);
        return true;
      }));
  EXPECT_NE(::testing::internal::GetCapturedStdout().find("in item 7"), std::string::npos);
}

}  // namespace
}  // namespace paceline::testing
