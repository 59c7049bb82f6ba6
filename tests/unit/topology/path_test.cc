#include "topology/path/path.h"

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "topology/model/finish.h"

namespace paceline::topology {
namespace {

TEST(Paths, AreAsNearAsTheBridgesSay) {
  const HostModel host = finished_small_host();
  EXPECT_EQ(path_between(host, gpu(0), gpu(0)).kind, PathKind::kLoc);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).kind, PathKind::kNvl);
  EXPECT_EQ(path_between(host, gpu(0), nic(0)).kind, PathKind::kPix);
  EXPECT_EQ(path_between(host, gpu(2), nic(1)).kind, PathKind::kNode);
  EXPECT_EQ(path_between(host, gpu(0), gpu(2)).kind, PathKind::kSys);
}

TEST(Paths, TwoSwitchesArePxbAndAHostBridgeIsPhb) {
  HostModel host = small_host();
  host.bridges.push_back({.kind = BridgeKind::kSwitch, .parent = 1});
  host.bridges.push_back({.kind = BridgeKind::kSwitch, .parent = 2});
  host.gpus[1].pci.bridge = 4;
  host.nics[1].pci.bridge = 5;
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(path_between(host, gpu(1), nic(0)).kind, PathKind::kPxb);
  EXPECT_EQ(path_between(host, gpu(2), nic(1)).kind, PathKind::kPhb);
}

TEST(Paths, AreTheSameBothWays) {
  const HostModel host = finished_small_host();
  const std::vector<DeviceRef> all = {gpu(0), gpu(1), gpu(2), nic(0), nic(1)};
  for (const DeviceRef a : all) {
    for (const DeviceRef b : all) {
      const Path there = path_between(host, a, b), back = path_between(host, b, a);
      EXPECT_EQ(there.kind, back.kind);
      EXPECT_EQ(there.mb_per_s, back.mb_per_s);
      EXPECT_EQ(there.latency_us, back.latency_us);
    }
  }
}

TEST(Paths, AreAsWideAsTheirNarrowestPart) {
  const HostModel host = finished_small_host();
  EXPECT_EQ(path_between(host, gpu(0), nic(0)).mb_per_s, 31508U) << "past the uplink";
  const Path far = path_between(host, gpu(0), gpu(2));
  EXPECT_EQ(far.mb_per_s, 15754U);
  EXPECT_EQ(far.narrowest, "the uplink of 0000:02:00.0");
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).mb_per_s, 100000U);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).links, 4);
}

TEST(Paths, OfWhichNobodyTellsAWidthAreEstimatedAlike) {
  HostModel host = small_host();
  for (Gpu& gpu : host.gpus) gpu.pci.mb_per_s = {};
  for (Bridge& bridge : host.bridges) bridge.mb_per_s = {};
  host.links.clear();
  host = finish(std::move(host), 0).value();
  EXPECT_TRUE(path_between(host, gpu(0), gpu(1)).is_estimate);
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).mb_per_s,
            path_between(host, gpu(0), gpu(2)).mb_per_s);
  EXPECT_FALSE(path_between(host, gpu(0), nic(0)).is_estimate);
}

TEST(Paths, FollowLinksToSwitches) {
  HostModel host = small_host();
  for (int i = 0; i < 3; ++i)
    host.links.push_back({.gpu = i, .end = LinkEnd::kSwitch, .count = i == 2 ? 6 : 12});
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(path_between(host, gpu(0), gpu(1)).links, 4) << "those between them come first";
  const Path path = path_between(host, gpu(1), gpu(2));
  EXPECT_EQ(path.kind, PathKind::kNvl);
  EXPECT_EQ(path.links, 6);
}

TEST(Paths, AreWhatASourceHasStated) {
  HostModel host = small_host();
  host.stated = {{.a = gpu(1), .b = nic(0), .kind = PathKind::kPxb},
                 {.a = gpu(0), .b = nic(0), .kind = PathKind::kSys},
                 {.a = gpu(0), .b = gpu(1), .kind = PathKind::kPhb}};
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(path_between(host, nic(0), gpu(0)).kind, PathKind::kSys);
  EXPECT_EQ(path_between(host, gpu(1), gpu(0)).kind, PathKind::kPhb);
  EXPECT_EQ(path_between(host, gpu(1), nic(0)).kind, PathKind::kPxb);
  EXPECT_EQ(path_between(host, gpu(2), nic(1)).kind, PathKind::kNode) << "nobody stated it";
}

TEST(Paths, LeadToMemory) {
  HostModel host = small_host();
  host.links.push_back({.gpu = 2, .end = LinkEnd::kPackage, .peer = 1, .count = 3});
  host = finish(std::move(host), 0).value();
  EXPECT_EQ(path_to_node(host, gpu(0), 0).kind, PathKind::kPhb);
  EXPECT_EQ(path_to_node(host, gpu(0), 0).mb_per_s, 15754U);
  EXPECT_EQ(path_to_node(host, gpu(0), 1).kind, PathKind::kSys);
  EXPECT_EQ(path_to_node(host, gpu(2), 1).kind, PathKind::kNvl);
  EXPECT_EQ(path_between_nodes(host, 0, 0).kind, PathKind::kLoc);
  EXPECT_EQ(path_between_nodes(host, 0, 1).kind, PathKind::kSys);
}

TEST(Paths, OfDevicesThatNobodyPlacedAreFar) {
  HostModel host = small_host();
  host.gpus[2].pci = {};
  host = finish(std::move(host), 0).value();
  const Path path = path_between(host, gpu(2), nic(1));
  EXPECT_EQ(path.kind, PathKind::kSys);
  EXPECT_GT(path.mb_per_s, 0U);
}

}  // namespace
}  // namespace paceline::topology
