#include "launcher/tools/measure/probe/gradient/timeline.h"

#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

// 400, 800 and 1200 bytes.
Trace three_tensors() {
  return {.name = "three",
          .model = "three",
          .tensors = {{.name = "a", .count = 100, .flops = 1},
                      {.name = "b", .count = 200, .flops = 1},
                      {.name = "c", .count = 300, .flops = 1, .flops_behind = 1}}};
}

TEST(Timeline, AThirdIsForwardAndTheRestGoesByWork) {
  const Timeline timeline = timeline_of(three_tensors(), 12);
  EXPECT_DOUBLE_EQ(timeline.forward_us, 4);
  EXPECT_EQ(timeline.backward_us, (std::vector<double>{2, 2, 4}));
  EXPECT_EQ(timeline.ready_us(), (std::vector<double>{12, 10, 8}));
  EXPECT_DOUBLE_EQ(timeline.compute_us(), 12);
}

TEST(Timeline, TheWireCarriesEachByteAlmostTwiceAmongMany) {
  const WireRate rate{.bytes_per_s = 400e6, .latency_us = 0.5};
  EXPECT_DOUBLE_EQ(wire_us(400, 2, rate), 1);
  EXPECT_DOUBLE_EQ(wire_us(400, 4, rate), 1.5);
  EXPECT_DOUBLE_EQ(wire_us(400, 1, rate), 0);
  EXPECT_DOUBLE_EQ(wire_us(400, 2, {}), 0);
}

TEST(Timeline, WhereTheWireIsSlowAllOfItCounts) {
  const Trace trace = three_tensors();
  const WireRate rate{.bytes_per_s = 400e6, .latency_us = 0.5};
  // From 8 on 6 us of wire.
  const ExposedBound bound = least_exposed(trace, timeline_of(trace, 12), 2, rate);
  EXPECT_DOUBLE_EQ(bound.bytes_us, 2);
  EXPECT_DOUBLE_EQ(bound.with_latency_us, 2.5);
}

TEST(Timeline, WhereTheWireIsFastTheLastOneCounts) {
  const Trace trace = three_tensors();
  const WireRate rate{.bytes_per_s = 4e9, .latency_us = 0};
  EXPECT_NEAR(least_exposed(trace, timeline_of(trace, 12), 2, rate).bytes_us, 0.1, 1e-12);
}

// A gap in the middle: what is ready before it has gone when the next becomes ready.
TEST(Timeline, BetweenThemTheWorstMomentCounts) {
  const Trace trace = three_tensors();
  // From 10 on 3 us of wire, from 8 on 4.5, from 12 on 1.
  const WireRate rate{.bytes_per_s = 400e6, .latency_us = 0};
  Timeline timeline = timeline_of(trace, 12);
  timeline.backward_us = {1.5, 4, 2.5};  // ready at 12, 10.5 and 6.5
  EXPECT_DOUBLE_EQ(least_exposed(trace, timeline, 2, rate).bytes_us, 1.5);
}

}  // namespace
}  // namespace paceline::probe
