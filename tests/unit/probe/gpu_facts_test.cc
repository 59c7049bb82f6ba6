#include "launcher/tools/measure/probe/check/gpu_facts.h"

#include <array>
#include <chrono>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::probe {
namespace {

constexpr Duration kPatience = std::chrono::seconds(10);

TEST(GpuFacts, WhatTheDriverSays) {
  const HostFacts facts = GpuReader(PACELINE_FAKE_NVML).answer(SystemClock(), kPatience);
  EXPECT_EQ(facts.gpus, 3);
  EXPECT_EQ(facts.gpu_models, "3xNVIDIA_Test");
  EXPECT_EQ(facts.gpu_error, "");
  EXPECT_EQ(facts.gpu_clock_limits, 0) << "a limit of power by a setting is usual";
  EXPECT_EQ(facts.limited_gpus, "");
  EXPECT_EQ(facts.gpu_memory_errors, 2);
  EXPECT_EQ(facts.gpus_with_errors, "1");
  EXPECT_EQ(facts.narrow_gpus, "1:x8/x16");
  EXPECT_EQ(facts.nvlinks, 10);
}

TEST(GpuFacts, ADriverThatNeverAnswersIsLeft) {
  ::setenv("PACELINE_FAKE_NVML_HANGS", "1", 1);
  const HostFacts facts =
      GpuReader(PACELINE_FAKE_NVML).answer(SystemClock(), std::chrono::milliseconds(200));
  ::unsetenv("PACELINE_FAKE_NVML_HANGS");
  EXPECT_EQ(facts.gpu_error, "no_answer");
  EXPECT_EQ(facts.gpus, 0);
}

TEST(GpuFacts, ErrorsAreNamed) {
  for (const auto& [variable, value, error] :
       {std::array{"PACELINE_FAKE_NVML_CRASHES", "1", "crash"},
        std::array{"PACELINE_FAKE_NVML_ERROR", "18", "18"},
        std::array{"PACELINE_FAKE_NVML_ERROR", "9", ""}}) {
    ::setenv(variable, value, 1);
    const HostFacts facts = GpuReader(PACELINE_FAKE_NVML).answer(SystemClock(), kPatience);
    ::unsetenv(variable);
    EXPECT_EQ(facts.gpu_error, error) << variable;
    EXPECT_EQ(facts.gpus, 0);
  }
  ::setenv("PACELINE_FAKE_NVML_LOST", "1", 1);
  const HostFacts facts = GpuReader(PACELINE_FAKE_NVML).answer(SystemClock(), kPatience);
  ::unsetenv("PACELINE_FAKE_NVML_LOST");
  EXPECT_EQ(facts.lost_gpus, "1");
  EXPECT_EQ(facts.gpus, 2);
}

TEST(GpuFacts, WhatPassesIsNoFault) {
  using topology::GpuHealthReport;
  const GpuHealthReport first{
      .gpus = {{.number = 0, .clock_limits = 0x48, .pcie_lanes = 8, .most_pcie_lanes = 16}}};
  const GpuHealthReport second{
      .gpus = {{.number = 0, .clock_limits = 0x40, .pcie_lanes = 16, .most_pcie_lanes = 16}}};
  const GpuHealthReport both = confirmed(first, second);
  EXPECT_EQ(both.gpus[0].clock_limits, 0x40);
  EXPECT_EQ(both.gpus[0].pcie_lanes, 16);
}

TEST(GpuFacts, WithoutTheLibraryThereAreNone) {
  EXPECT_EQ(GpuReader("/no/such/library.so").answer(SystemClock(), kPatience), HostFacts());
}

TEST(GpuFacts, OfAllGpusTogether) {
  std::vector<topology::GpuHealth> gpus;
  for (int number = 0; number < 8; ++number)
    gpus.push_back({.number = number,
                    .name = number < 6 ? "A" : "B",
                    .clock_limits = number == 2   ? 0x40
                                    : number == 5 ? 0x8 | 0x1
                                                  : 0x4,
                    .uncorrected_errors = number > 5 ? 1 : 0,
                    .pcie_lanes = 16,
                    .most_pcie_lanes = 16,
                    .nvlinks = 18});
  HostFacts facts;
  add_gpus({.gpus = gpus}, facts);
  EXPECT_EQ(facts.gpu_models, "6xA,2xB");
  EXPECT_EQ(facts.gpu_clock_limits, 0x48);
  EXPECT_EQ(facts.limited_gpus, "2,5");
  EXPECT_EQ(facts.gpus_with_errors, "6,7");
  EXPECT_EQ(facts.narrow_gpus, "");
  EXPECT_EQ(facts.nvlinks, 144);
}

TEST(GpuFacts, AListOfManyGpusIsShort) {
  std::vector<topology::GpuHealth> gpus(1000);
  for (int number = 0; number < 1000; ++number)
    gpus[static_cast<std::size_t>(number)] = {.number = number, .clock_limits = 0x40};
  HostFacts facts;
  add_gpus({.gpus = gpus}, facts);
  EXPECT_LT(facts.limited_gpus.size(), 80);
  EXPECT_TRUE(facts.limited_gpus.ends_with(",.."));
}

}  // namespace
}  // namespace paceline::probe
