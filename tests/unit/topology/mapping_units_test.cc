#include "topology/placement/rules/mapping_units.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/unit/topology/host_words.h"
#include "tests/unit/topology/plain_machine.h"

namespace paceline::topology {
namespace {

std::string units(const HostModel& host, Unit unit, const CpuSet& allowed) {
  std::string text;
  for (const CpuSet& one : HostUnits(host, allowed).of(unit))
    text += (text.empty() ? "" : " | ") + one.to_text();
  return text;
}

std::string units(const HostModel& host, Unit unit) { return units(host, unit, host.cpus); }

TEST(MappingUnits, AreThoseOfTheMachine) {
  const HostModel host = plain_machine({.nodes = 2, .caches = 2, .cores = 1});
  EXPECT_EQ(units(host, Unit::kPackage), "0-7 | 8-15");
  EXPECT_EQ(units(host, Unit::kNuma), "0-3 | 4-7 | 8-11 | 12-15");
  EXPECT_EQ(units(host, Unit::kL3), "0-1 | 2-3 | 4-5 | 6-7 | 8-9 | 10-11 | 12-13 | 14-15");
  EXPECT_EQ(units(host, Unit::kNode), "0-15");
  EXPECT_EQ(units(host, Unit::kSlot), "0-15");
}

TEST(MappingUnits, LoseWhatMayNotBeUsed) {
  const HostModel host = plain_machine({.nodes = 2, .cores = 2});
  EXPECT_EQ(units(host, Unit::kNuma, cpus("1,8-12,99")), "1 | 8-11 | 12");
  EXPECT_EQ(units(host, Unit::kCore, cpus("1,8-12,99")), "1 | 8-9 | 10-11 | 12");
  EXPECT_EQ(units(host, Unit::kHwthread, cpus("1,8-9")), "1 | 8 | 9");
  EXPECT_EQ(units(host, Unit::kNode, cpus("99")), "");
}

// The machine's first package has CPU 0; a node may have several packages too.
TEST(MappingUnits, ComeInTheOrderOfTheMachine) {
  HostModel host = plain_machine({.cores = 2, .is_interleaved = true});
  EXPECT_EQ(units(host, Unit::kCore), "0,4 | 2,6 | 1,5 | 3,7");
  EXPECT_EQ(units(host, Unit::kHwthread), "0 | 4 | 2 | 6 | 1 | 5 | 3 | 7");
  host.numa_nodes.resize(1);
  host.numa_nodes[0].cpus = host.cpus;
  EXPECT_EQ(units(host, Unit::kCore), "0,4 | 2,6 | 1,5 | 3,7");
  EXPECT_EQ(units(host, Unit::kNuma), "0-7");
}

TEST(MappingUnits, OfMemoryAloneAreNone) {
  HostModel host = plain_machine({.cores = 1});
  host.numa_nodes.push_back({.number = 2, .cpus = cpus("0-1"), .kind = MemoryKind::kHighBandwidth});
  host.numa_nodes.push_back({.number = 3});
  host.numa_nodes.push_back({.number = 4, .kind = MemoryKind::kDevice});
  EXPECT_EQ(units(host, Unit::kNuma), "0-1 | 2-3");
  EXPECT_EQ(HostUnits(host, host.cpus).text(Unit::kNuma, cpus("0-1")), "NUMA node 0");
}

TEST(MappingUnits, AreCachesOfTheirLevelOrACoresOwn) {
  HostModel host = plain_machine({.packages = 1, .caches = 2, .cores = 2, .threads = 1});
  EXPECT_EQ(units(host, Unit::kL2), "0 | 1 | 2 | 3");
  for (Cache& cache : host.caches) cache.level = 2;
  EXPECT_EQ(units(host, Unit::kL3), "");
  EXPECT_EQ(units(host, Unit::kL2), "0-1 | 2-3");
  EXPECT_EQ(units(host, Unit::kL1), "0 | 1 | 2 | 3");
  host.caches.clear();
  EXPECT_EQ(units(host, Unit::kL3), "");
  EXPECT_EQ(units(host, Unit::kL2), "0 | 1 | 2 | 3");
}

TEST(MappingUnits, AreSingleCpusWhereNobodyHasToldCores) {
  HostModel host = plain_machine({.packages = 1, .cores = 2, .threads = 1});
  host.cores.clear();
  EXPECT_EQ(units(host, Unit::kCore), "0 | 1");
  host.packages.clear();
  host.numa_nodes.clear();
  EXPECT_EQ(units(host, Unit::kPackage), "");
  EXPECT_EQ(units(host, Unit::kNuma), "");
}

TEST(MappingUnits, ThatOverlapAreCutApart) {
  HostModel host = plain_machine({.packages = 1, .cores = 4, .threads = 1});
  host.caches = {{.cpus = cpus("0-2")}, {.cpus = cpus("1-3")}, {.cpus = cpus("2")}};
  EXPECT_EQ(units(host, Unit::kL3), "0-2 | 3");
}

TEST(MappingUnits, CountCoresThatAPartOfIsThere) {
  const HostModel host = plain_machine({.packages = 1, .cores = 2, .threads = 8});
  const HostUnits units(host, cpus("0-9"));
  EXPECT_EQ(units.count(Unit::kCore, cpus("1-2")), 1);
  EXPECT_EQ(units.count(Unit::kCore, host.cpus), 2);
  EXPECT_EQ(units.count(Unit::kHwthread, host.cpus), 10);
  EXPECT_EQ(units.text(Unit::kPackage, cpus("9")), "package 0");
  EXPECT_EQ(units.text(Unit::kCore, cpus("9")), "CPU 9");
}

}  // namespace
}  // namespace paceline::topology
