#include "launcher/tools/measure/bench/gradient/gradient_run.h"

#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::launcher {
namespace {

using Turns = std::vector<std::size_t>;

TEST(GradientTurns, AnotherOneBeginsEachRound) {
  EXPECT_EQ(gradient_turns(3, 3), (Turns{0, 1, 2, 1, 2, 0, 2, 0, 1, 0, 1, 2}));
  EXPECT_EQ(gradient_turns(2, 1), (Turns{0, 1, 1, 0}));
}

TEST(GradientTurns, WhoIsAloneHasAllOfThem) {
  EXPECT_EQ(gradient_turns(1, 2), (Turns{0, 0, 0}));
  EXPECT_EQ(gradient_turns(0, 2), Turns{});
}

}  // namespace
}  // namespace paceline::launcher
