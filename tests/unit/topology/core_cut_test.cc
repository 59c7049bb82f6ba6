#include "topology/placement/host/core_cut.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"

namespace paceline::topology {
namespace {

// 8 cores; two hardware threads each with `threads` 2: CPU n and n + 8.
HostModel eight_cores(std::size_t threads = 1) {
  HostModel host;
  for (std::size_t core = 0; core < 8; ++core) {
    host.cores.emplace_back();
    for (std::size_t thread = 0; thread < threads; ++thread)
      host.cores.back().cpus.add(core + 8 * thread);
    host.cpus.add(host.cores.back().cpus);
  }
  return host;
}

std::string cut(const HostModel& host, const std::vector<CpuSet>& places, int cores_each = 0,
                const CpuSet& allowed = {}) {
  std::string text;
  for (const CoreShare& share :
       cut_cores(host, allowed.is_empty() ? host.cpus : allowed, places, cores_each))
    text += share.cpus.to_text() + (share.is_shared ? " shared" : "") +
            (share.is_near ? "" : " far") + "; ";
  return text;
}

TEST(CoreCut, GivesEachAsManyWholeCoresAsTheOthers) {
  EXPECT_EQ(cut(eight_cores(), {{}, {}}), "0-3; 4-7; ");
  EXPECT_EQ(cut(eight_cores(), {{}, {}, {}}), "0-1; 2-4; 5-7; ");
  EXPECT_EQ(cut(eight_cores(2), {{}, {}}), "0-3,8-11; 4-7,12-15; ");
  EXPECT_EQ(cut(eight_cores(), {{}, {}}, 1), "0; 4; ");
}

TEST(CoreCut, StaysNearWhatTheRankIsToBeNearTo) {
  const CpuSet low = cpus("0-3"), high = cpus("4-7");
  EXPECT_EQ(cut(eight_cores(), {high, low, high}), "4-5; 0-3; 6-7; ");
  EXPECT_EQ(cut(eight_cores(), {low, cpus("0-1")}), "2-3; 0-1; ") << "the narrower place first";
}

TEST(CoreCut, GoesFarWhereNothingNearMayBeUsedOrIsLeft) {
  const CpuSet low = cpus("0-3");
  EXPECT_EQ(cut(eight_cores(), {low}, 0, cpus("4-7")), "4-7 far; ");
  EXPECT_EQ(cut(eight_cores(), {low, low}, 3), "0-1,4 far; 2-3,5 far; ");
}

TEST(CoreCut, SharesWhereThereAreMoreRanksThanCores) {
  EXPECT_EQ(cut(eight_cores(), {cpus("0"), cpus("0")}), "0 shared; 0 shared; ");
}

TEST(CoreCut, GuessesTheCoresWhereNobodyHasToldThem) {
  HostModel host;
  host.cpus = cpus("0-3");
  EXPECT_EQ(cut(host, {{}, {}}), "0-1; 2-3; ");
  host.cpus = cpus("0-3,8-11");
  EXPECT_EQ(cut(host, {{}, {}}), "0-1,8-9; 2-3,10-11; ") << "8 is the second thread of 0's core";
  host.cpus = cpus("0-3,8-10");
  EXPECT_EQ(cut(host, {{}, {}}), "0-2; 3,8-10; ");
}

}  // namespace
}  // namespace paceline::topology
