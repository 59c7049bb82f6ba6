#include "topology/read/nvml_health.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

TEST(NvmlHealth, TellsWhatIsWrong) {
  const std::vector<GpuHealth> gpus = read_gpu_health(PACELINE_FAKE_NVML).gpus;
  ASSERT_EQ(gpus.size(), 3U);
  EXPECT_EQ(gpus[1].number, 1);
  EXPECT_EQ(gpus[1].name, "NVIDIA Test");
  EXPECT_EQ(gpus[1].clock_limits, 0x4);
  EXPECT_EQ(gpus[0].uncorrected_errors, 0);
  EXPECT_EQ(gpus[1].uncorrected_errors, 2);
  EXPECT_EQ(gpus[1].pcie_lanes, 8);
  EXPECT_EQ(gpus[1].most_pcie_lanes, 16);
  EXPECT_EQ(gpus[0].nvlinks, 5) << "one of 6 is down";
  EXPECT_EQ(gpus[2].nvlinks, 2);
}

TEST(NvmlHealth, WhatAGpuDoesNotTellIsUnknown) {
  const GpuHealth gpu = read_gpu_health(PACELINE_FAKE_NVML).gpus[2];
  EXPECT_FALSE(gpu.clock_limits);
  EXPECT_FALSE(gpu.uncorrected_errors);
  EXPECT_FALSE(gpu.pcie_lanes);
}

TEST(NvmlHealth, ErrorsOfTheDriverAreKept) {
  ::setenv("PACELINE_FAKE_NVML_ERROR", "18", 1);
  EXPECT_EQ(read_gpu_health(PACELINE_FAKE_NVML).error, 18);
  ::unsetenv("PACELINE_FAKE_NVML_ERROR");
  ::setenv("PACELINE_FAKE_NVML_LOST", "1", 1);
  const GpuHealthReport report = read_gpu_health(PACELINE_FAKE_NVML);
  ::unsetenv("PACELINE_FAKE_NVML_LOST");
  ASSERT_EQ(report.gpus.size(), 3U);
  EXPECT_TRUE(report.gpus[1].is_lost);
  EXPECT_FALSE(report.gpus[0].is_lost);
  EXPECT_EQ(read_gpu_health("/no/such/library.so").error, 0);
}

}  // namespace
}  // namespace paceline::topology
