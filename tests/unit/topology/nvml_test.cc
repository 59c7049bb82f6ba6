#include "topology/read/nvml.h"

#include <gtest/gtest.h>

#include "tests/unit/topology/small_host.h"
#include "topology/model/finish.h"
#include "topology/read/merge.h"

namespace paceline::topology {
namespace {

TEST(Nvml, TellsGpusAndTheirLinks) {
  const HostModel host = read_nvml(PACELINE_FAKE_NVML).value();
  ASSERT_EQ(host.gpus.size(), 3U);
  EXPECT_EQ(*host.gpus[1].pci.bus, (BusId{.bus = 4}));
  EXPECT_EQ(host.gpus[1].pci.vendor, 0x10de);
  EXPECT_EQ(host.gpus[1].pci.device, 0x20b5);
  EXPECT_EQ(*host.gpus[1].model, "NVIDIA Test");
  EXPECT_EQ(*host.gpus[1].uuid, "GPU-1");
  EXPECT_EQ(*host.gpus[1].memory_bytes, std::uint64_t{1} << 30);
  EXPECT_FALSE(host.gpus[2].memory_bytes.is_known());
  ASSERT_EQ(host.links.size(), 3U);
  const GpuLink between{.gpu = 0, .peer = 1, .count = 3, .mb_per_s = known(std::uint64_t{75000})};
  EXPECT_EQ(host.links[0], between);
  const GpuLink to_switch{
      .gpu = 0, .end = LinkEnd::kSwitch, .count = 2, .mb_per_s = known(std::uint64_t{50000})};
  EXPECT_EQ(host.links[1], to_switch);
  EXPECT_EQ(host.links[2].gpu, 2);
}

TEST(Nvml, AddsToWhatIsKnown) {
  HostModel base = small_host();
  base.links.clear();
  base = finish(std::move(base), 0).value();
  const HostModel host = merge(std::move(base), read_nvml(PACELINE_FAKE_NVML).value()).value();
  EXPECT_EQ(host.gpus[2].name, "cuda2");
  EXPECT_EQ(*host.gpus[2].uuid, "GPU-2");
  EXPECT_EQ(host.links.size(), 3U);
  EXPECT_TRUE(host.warnings.empty());
}

TEST(Nvml, IsUnavailableWhereTheLibraryIsNotThereOrAnother) {
  EXPECT_EQ(read_nvml("/no/such/library.so").status().code(), Code::kUnavailable);
  const Status other = read_nvml("libm.so.6").status();
  EXPECT_EQ(other.code(), Code::kUnavailable);
  EXPECT_NE(other.text().find("libm.so.6 has no function nvml"), std::string::npos) << other.text();
}

}  // namespace
}  // namespace paceline::topology
