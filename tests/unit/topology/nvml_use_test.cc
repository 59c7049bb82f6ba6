#include "topology/read/nvml_use.h"

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

TEST(NvmlUse, TellsWhatEachGpuKnows) {
  const auto meter = GpuMeter::open(PACELINE_FAKE_NVML).value();
  const std::vector<GpuUse> gpus = meter->read();
  ASSERT_EQ(gpus.size(), 3U);
  const GpuUse& one = gpus[1];
  EXPECT_EQ(one.number, 1);
  EXPECT_EQ(one.name, "NVIDIA Test");
  EXPECT_EQ(one.uuid, "GPU-1");
  EXPECT_EQ(one.busy, 0.87);
  EXPECT_EQ(one.memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(one.used_bytes, std::uint64_t{1} << 28);
  EXPECT_EQ(one.power_watts, 251.5);
  EXPECT_EQ(one.sm_clock_hertz, 1410e6);
  EXPECT_EQ(one.temperature_celsius, 61);
  EXPECT_EQ(one.clock_limits, 0x4);
  EXPECT_EQ(one.corrected_errors, 3);
  EXPECT_EQ(one.uncorrected_errors, 0);
}

TEST(NvmlUse, WhatAGpuDoesNotTellIsUnknown) {
  const GpuUse gpu = GpuMeter::open(PACELINE_FAKE_NVML).value()->read()[2];
  EXPECT_EQ(gpu.power_watts, 251.5);
  EXPECT_FALSE(gpu.busy);
  EXPECT_FALSE(gpu.memory_bytes);
  EXPECT_FALSE(gpu.used_bytes);
  EXPECT_FALSE(gpu.sm_clock_hertz);
  EXPECT_FALSE(gpu.temperature_celsius);
  EXPECT_FALSE(gpu.clock_limits);
  EXPECT_FALSE(gpu.uncorrected_errors);
}

TEST(NvmlUse, IsUnavailableWithoutTheLibrary) {
  EXPECT_EQ(GpuMeter::open("/no/such/library.so").status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace paceline::topology
