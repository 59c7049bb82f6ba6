#include "launcher/tools/measure/probe/check/cpu_use.h"

#include <gtest/gtest.h>
#include <poll.h>

namespace paceline::probe {
namespace {

TEST(CpuUse, WhoSpinsIsBusyAndWhoSleepsIsNot) {
  const SystemClock clock;
  const CpuUse busy = spin(clock, std::chrono::milliseconds(50));
  EXPECT_GT(busy.busy, 0.05) << "others may have the CPUs, but not all of the time";
  EXPECT_LE(busy.busy, 1);
  const CpuMeter meter(clock);
  ::poll(nullptr, 0, 50);
  EXPECT_LT(meter.read().busy, 0.3);
}

}  // namespace
}  // namespace paceline::probe
