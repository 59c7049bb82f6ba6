// What mpirun of Open MPI 4.1.4 does on the same machines, asked by
//
//   mpirun --do-not-launch --novm --display-devel-map --mca rmaps_base_verbose 10
//     --mca hwloc_base_topo_file MACHINE.xml -H a:8,b:8 -np 6 --map-by numa true
#include "topology/placement/rules/mapping.h"

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/text.h"
#include "comm/base/try.h"
#include "tests/unit/topology/plain_machine.h"

namespace paceline::topology {
namespace {

constexpr PlainMachine kFourNodes{.packages = 2, .nodes = 2, .cores = 2, .threads = 2};
constexpr PlainMachine kFourCaches{.packages = 2, .caches = 2, .cores = 3, .threads = 1};
constexpr PlainMachine kFourThreads{.packages = 1, .nodes = 4, .cores = 2, .threads = 4};
constexpr PlainMachine kInterleaved{.packages = 2, .cores = 4, .is_interleaved = true};

struct Hosts {
  PlainMachine machine;
  std::string slots = "8";  // of each, with commas; a is the first
  std::string cpus = "";    // that ranks may use there; empty: all
};

struct Row {
  int ranks;
  std::string options;
  std::string expected;  // by rank: the host, and its CPUs or a minus sign
};

Result<MappingRules> rules_of(const std::string& options) {
  MappingRules rules;
  std::istringstream words(options);
  for (std::string option, text; words >> option >> text;)
    PACELINE_TRY(option == "--map-by"    ? parse_map_by(text, rules)
                 : option == "--rank-by" ? parse_rank_by(text, rules)
                                         : parse_bind_to(text, rules));
  return rules;
}

std::string mapped(const Hosts& hosts, int ranks, const std::string& options) {
  Cluster cluster{.machines = {plain_machine(hosts.machine)}};
  std::vector<int> slots;
  std::istringstream words(hosts.slots);
  for (std::string word; std::getline(words, word, ',');) {
    const std::string name(1, static_cast<char>('a' + slots.size()));
    cluster.hosts.push_back({.name = name, .cpus = CpuSet::parse(hosts.cpus).value()});
    slots.push_back(parse_number<int>(word).value());
  }
  const auto rules = rules_of(options);
  if (!rules.ok()) return rules.status().text();
  const auto plan = map_ranks(cluster, {.ranks = ranks}, slots, *rules);
  if (!plan.ok()) return plan.status().text();
  std::string text;
  for (const Placed& rank : plan->ranks) {
    text += (text.empty() ? "" : " ") + cluster.hosts[static_cast<std::size_t>(rank.host)].name;
    text += ":" + (rank.seat.cpus.is_empty() ? "-" : rank.seat.cpus.to_text());
  }
  return text;
}

void expect_on(const Hosts& hosts, const std::vector<Row>& rows) {
  for (const Row& row : rows)
    EXPECT_EQ(mapped(hosts, row.ranks, row.options), row.expected)
        << row.ranks << " ranks on " << hosts.slots << ": " << row.options;
}

TEST(Mapping, WithoutAUnitGoesByTheNumberOfRanks) {
  expect_on({.machine = kFourNodes},
            {{2, "--rank-by slot", "a:0-1 a:2-3"},
             {3, "--rank-by slot", "a:0-3 a:4-7 a:8-11"},
             {6, "--rank-by slot", "a:0-3 a:4-7 a:8-11 a:12-15 a:0-3 a:4-7"}});
}

TEST(Mapping, IsByEachUnit) {
  expect_on({.machine = kFourNodes},
            {{5, "--map-by slot", "a:0-3 a:4-7 a:8-11 a:12-15 a:0-3"},
             {2, "--map-by slot", "a:0-1 a:2-3"},
             {5, "--map-by hwthread", "a:0 a:1 a:2 a:3 a:4"},
             {5, "--map-by core", "a:0-1 a:2-3 a:4-5 a:6-7 a:8-9"},
             {6, "--map-by numa", "a:0-3 a:4-7 a:8-11 a:12-15 a:0-3 a:4-7"},
             {5, "--map-by socket", "a:0-7 a:8-15 a:0-7 a:8-15 a:0-7"},
             {2, "--map-by node", "a:0-1 a:2-3"}});
  expect_on({.machine = kFourCaches},
            {{6, "--map-by l3cache", "a:0-2 a:3-5 a:6-8 a:9-11 a:0-2 a:3-5"}});
}

TEST(Mapping, FillsHostsOrTakesThemInTurn) {
  expect_on({.machine = kFourNodes, .slots = "4,4"},
            {{6, "--map-by core", "a:0-1 a:2-3 a:4-5 a:6-7 b:0-1 b:2-3"}});
  expect_on({.machine = kFourNodes, .slots = "4,8"},
            {{6, "--map-by node --bind-to core", "a:0-1 b:0-1 a:2-3 b:2-3 a:4-5 b:4-5"}});
  expect_on({.machine = kFourNodes, .slots = "1,4,4"},
            {{7, "--map-by node --bind-to none", "a:- b:- c:- b:- c:- b:- c:-"}});
  expect_on({.machine = kFourNodes, .slots = "2,8,8"},
            {{11, "--map-by node --bind-to none", "a:- b:- c:- a:- b:- c:- b:- c:- b:- c:- b:-"}});
  expect_on({.machine = kFourNodes, .slots = "8,8"},
            {{6, "--map-by numa:SPAN --rank-by numa --bind-to core",
              "a:0-1 a:4-5 a:8-9 a:12-13 b:0-1 b:4-5"},
             {6, "--map-by numa:SPAN --rank-by node", "a:0-3 b:0-3 a:4-7 b:4-7 a:8-11 a:12-15"}});
  expect_on({.machine = kFourCaches, .slots = "8,8"},
            {{6, "--map-by socket:SPAN --rank-by slot --bind-to none", "a:- a:- a:- a:- b:- b:-"}});
  expect_on({.machine = kFourNodes, .slots = "3,8"},
            {{7, "--map-by numa --bind-to numa", "a:0-3 a:4-7 a:8-11 b:0-3 b:4-7 b:8-11 b:12-15"}});
}

TEST(Mapping, PutsSoManyOnEachUnit) {
  expect_on({.machine = kFourNodes},
            {{4, "--map-by ppr:1:numa", "a:0-3 a:4-7 a:8-11 a:12-15"},
             {4, "--map-by ppr:2:socket", "a:0-3 a:4-7 a:8-11 a:12-15"},
             {4, "--map-by ppr:2:socket --bind-to core", "a:0-1 a:2-3 a:8-9 a:10-11"},
             {3, "--map-by ppr:1:core", "a:0-3 a:0-3 a:4-7"}});
  expect_on(
      {.machine = kFourNodes, .slots = "4,4"},
      {{6, "--map-by ppr:2:socket --bind-to core", "a:0-1 a:2-3 a:8-9 a:10-11 b:0-1 b:2-3"},
       {6, "--map-by ppr:1:l3cache --bind-to l3cache", "a:0-3 a:4-7 a:8-11 a:12-15 b:0-3 b:4-7"}});
  expect_on({.machine = kFourNodes, .slots = "3,3"},
            {{6, "--map-by ppr:3:node --bind-to core", "a:0-1 a:2-3 a:4-5 b:0-1 b:2-3 b:4-5"}});
}

TEST(Mapping, NumbersRanksByAnotherUnit) {
  expect_on(
      {.machine = kFourNodes},
      {{6, "--map-by numa --rank-by socket", "a:0-3 a:8-11 a:4-7 a:12-15 a:0-3 a:4-7"},
       {6, "--map-by numa --rank-by slot", "a:0-3 a:4-7 a:8-11 a:12-15 a:0-3 a:4-7"},
       {6, "--map-by ppr:2:numa --rank-by numa", "a:0-3 a:4-7 a:8-11 a:0-3 a:4-7 a:8-11"},
       {8, "--map-by core --rank-by numa", "a:0-1 a:4-5 a:8-9 a:12-13 a:2-3 a:6-7 a:10-11 a:14-15"},
       {8, "--map-by slot --rank-by core --bind-to core",
        "a:0-1 a:2-3 a:4-5 a:6-7 a:8-9 a:10-11 a:12-13 a:14-15"},
       {6, "--map-by hwthread --rank-by socket", "a:0 a:1 a:2 a:3 a:4 a:5"}});
  expect_on({.machine = kFourNodes, .slots = "4,4"},
            {{8, "--map-by core --rank-by node", "a:0-1 b:0-1 a:2-3 b:2-3 a:4-5 b:4-5 a:6-7 b:6-7"},
             {8, "--map-by socket --rank-by socket:span --bind-to core",
              "a:0-1 a:8-9 b:0-1 b:8-9 a:2-3 a:10-11 b:2-3 b:10-11"},
             {8, "--map-by socket --rank-by socket:fill --bind-to core",
              "a:0-1 a:2-3 a:8-9 a:10-11 b:0-1 b:2-3 b:8-9 b:10-11"}});
}

TEST(Mapping, BindsToOtherUnitsThanItMapsBy) {
  expect_on({.machine = kFourNodes},
            {{6, "--map-by numa --bind-to core", "a:0-1 a:4-5 a:8-9 a:12-13 a:2-3 a:6-7"},
             {4, "--map-by core --bind-to numa", "a:0-3 a:0-3 a:4-7 a:4-7"},
             {4, "--map-by socket --bind-to l3cache", "a:0-3 a:8-11 a:4-7 a:12-15"},
             {5, "--map-by core --bind-to hwthread", "a:0 a:2 a:4 a:6 a:8"},
             {4, "--map-by hwthread --bind-to core", "a:0-1 a:0-1 a:2-3 a:2-3"},
             {3, "--map-by numa --bind-to none", "a:- a:- a:-"},
             {3, "--map-by numa --bind-to board", "a:- a:- a:-"},
             {4, "--map-by l3cache --bind-to package", "a:0-7 a:0-7 a:8-15 a:8-15"}});
  expect_on({.machine = kFourNodes, .slots = "16"},
            {{9, "--map-by core --bind-to hwthread", "a:0 a:2 a:4 a:6 a:8 a:10 a:12 a:14 a:1"}});
  expect_on({.machine = kFourThreads},
            {{5, "--map-by numa --bind-to core", "a:0-3 a:8-11 a:16-19 a:24-27 a:4-7"},
             {5, "--map-by slot --bind-to hwthread", "a:0 a:1 a:2 a:3 a:4"}});
}

TEST(Mapping, GivesEachRankSeveralCores) {
  expect_on({.machine = kFourNodes},
            {{4, "--map-by numa:PE=2", "a:0-3 a:4-7 a:8-11 a:12-15"},
             {4, "--map-by slot:PE=2", "a:0-3 a:4-7 a:8-11 a:12-15"},
             {2, "--map-by socket:PE=3", "a:0-5 a:8-13"},
             {2, "--map-by ppr:1:core:PE=3 --bind-to hwthread", "a:0-2 a:3-5"},
             {4, "--map-by ppr:2:socket:PE=2", "a:0-3 a:4-7 a:8-11 a:12-15"},
             {4, "--map-by numa:PE=2 --bind-to hwthread", "a:0-1 a:4-5 a:8-9 a:12-13"},
             {2, "--map-by :PE=2", "a:0-3 a:8-11"},
             {3, "--map-by node:PE=2", "a:0-3 a:4-7 a:8-11"}});
}

TEST(Mapping, BindsMoreRanksThanCoresOnlyWhereThatIsAllowed) {
  expect_on({.machine = kFourNodes, .slots = "10"},
            {{10, "--map-by core", "a:- a:- a:- a:- a:- a:- a:- a:- a:- a:-"},
             {10, "--map-by core --bind-to core:overload-allowed",
              "a:0-1 a:2-3 a:4-5 a:6-7 a:8-9 a:10-11 a:12-13 a:14-15 a:0-1 a:2-3"},
             {10, "--map-by numa", "a:- a:- a:- a:- a:- a:- a:- a:- a:- a:-"},
             {9, "--map-by slot --bind-to core:overload-allowed",
              "a:0-1 a:2-3 a:4-5 a:6-7 a:8-9 a:10-11 a:12-13 a:14-15 a:0-1"}});
  expect_on({.machine = kFourCaches},
            {{7, "--map-by ppr:4:l3cache", "a:- a:- a:- a:- a:- a:- a:-"}});
}

TEST(Mapping, LeavesOutWhatMayNotBeUsed) {
  expect_on({.machine = kFourNodes, .cpus = "0-1,4-15"},
            {{6, "--map-by numa", "a:0-1 a:4-7 a:8-11 a:12-15 a:4-7 a:8-11"},
             {7, "--map-by core", "a:0-1 a:4-5 a:6-7 a:8-9 a:10-11 a:12-13 a:14-15"}});
  expect_on({.machine = kFourNodes, .cpus = "0-2,9-11"},
            {{4, "--map-by core", "a:0-1 a:2 a:9 a:10-11"},
             {5, "--map-by hwthread", "a:0 a:1 a:2 a:9 a:10"}});
  expect_on({.machine = kFourNodes, .cpus = "0-3,8-15"},
            {{4, "--map-by numa", "a:0-3 a:8-11 a:12-15 a:0-3"}});
}

TEST(Mapping, GoesThroughTheMachineAndNotByNumber) {
  expect_on({.machine = kInterleaved},
            {{6, "--map-by core", "a:0,8 a:2,10 a:4,12 a:6,14 a:1,9 a:3,11"},
             {4, "--map-by socket --bind-to core", "a:0,8 a:1,9 a:2,10 a:3,11"},
             {4, "--map-by hwthread", "a:0 a:8 a:2 a:10"}});
}

// mpirun refuses the first, gives a host more than its slots in the second and less than its even
// share in the third, and in the fourth gives a package's numbers to ranks of the other.
TEST(Mapping, KeepsToSlotsAndUnitsWhereMpirunDoesNot) {
  expect_on({.machine = kFourNodes, .slots = "3,8"},
            {{6, "--map-by ppr:2:socket --bind-to core", "a:0-1 a:2-3 a:8-9 b:0-1 b:2-3 b:8-9"}});
  expect_on({.machine = kFourNodes, .slots = "1,8"},
            {{4, "--map-by socket:SPAN", "a:0-7 b:0-7 b:8-15 b:0-7"}});
  expect_on(
      {.machine = kFourNodes, .slots = "2,8,3"},
      {{8, "--map-by node --rank-by slot --bind-to none", "a:- a:- b:- b:- b:- c:- c:- c:-"}});
  expect_on({.machine = kFourNodes}, {{4, "--map-by socket:SPAN", "a:0-7 a:8-15 a:0-7 a:8-15"}});
}

// mpirun forgets the number where a rank is mapped to the same unit as it is bound to.
TEST(Mapping, GivesSeveralCoresFromOneOnToo) {
  expect_on({.machine = kFourNodes}, {{3, "--map-by ppr:1:core:PE=2", "a:0-3 a:4-7 a:8-11"}});
}

// mpirun ends where the machine does.
TEST(Mapping, GoesAroundTheMachineWhereSeveralCoresEachAreTooMany) {
  expect_on({.machine = {.packages = 1, .cores = 4, .threads = 1}},
            {{2, "--map-by slot:PE=3 --bind-to core:overload-allowed", "a:0-2 a:0-1,3"}});
}

TEST(Mapping, TakesTheWordsOfOpenMpi5) {
  expect_on({.machine = kFourNodes, .slots = "4,4"},
            {{8, "--map-by package --rank-by fill --bind-to core",
              "a:0-1 a:2-3 a:8-9 a:10-11 b:0-1 b:2-3 b:8-9 b:10-11"},
             {8, "--map-by package --rank-by span --bind-to core",
              "a:0-1 a:8-9 b:0-1 b:8-9 a:2-3 a:10-11 b:2-3 b:10-11"}});
}

TEST(Mapping, SaysWhatHasNoRoom) {
  expect_on(
      {.machine = kFourNodes},
      {{9, "--map-by slot", "the job has 9 ranks, but the slots of its hosts have room for 8"},
       {9, "--map-by node", "the job has 9 ranks, but the slots of its hosts have room for 8"},
       {5, "--map-by ppr:2:socket",
        "the job has 5 ranks, but with 2 per package the slots of its hosts have room for 4"},
       {4, "--map-by numa:PE=3", "host a: each rank needs 3 cores, but NUMA node 0 has 2"}});
  expect_on({.machine = kFourNodes, .slots = "10"},
            {{9, "--map-by core --bind-to core",
              "host a: 9 ranks cannot be bound to CPUs 0-15, with only 8 cores; use fewer "
              "ranks, or --bind-to core:overload-allowed"},
             {9, "--map-by slot --bind-to core",
              "host a: 9 ranks cannot be bound to CPUs 0-15, with only 8 cores; use fewer "
              "ranks, or --bind-to core:overload-allowed"},
             {9, "--map-by numa --bind-to core",
              "host a: 3 ranks cannot be bound to CPUs 0-3, with only 2 cores; use fewer "
              "ranks, or --bind-to core:overload-allowed"},
             {3, "--map-by core --bind-to numa", "a:0-3 a:0-3 a:4-7"},
             {3, "--map-by ppr:3:core --bind-to numa",
              "host a: 3 ranks cannot be bound to CPUs 0-3, with only 2 cores; use fewer "
              "ranks, or --bind-to numa:overload-allowed"},
             {5, "--map-by numa:PE=2",
              "host a: 2 ranks with 2 cores each cannot be bound to CPUs 0-3, with only 2 "
              "cores; use fewer ranks, or --bind-to core:overload-allowed"}});
  expect_on({.machine = kFourNodes, .cpus = "0"},
            {{2, "--map-by slot --bind-to core",
              "host a: 2 ranks cannot be bound to CPU 0, with only 1 core; use fewer ranks, "
              "or --bind-to core:overload-allowed"}});
}

TEST(Mapping, SaysWhatContradictsItself) {
  expect_on({.machine = kFourNodes},
            {{2, "--map-by numa:PE=2 --bind-to numa",
              "--bind-to numa and 2 CPUs per rank cannot be combined; bind to core or hwthread"},
             {2, "--map-by core:PE=2",
              "--map-by core is too small for 2 CPUs per rank; map by numa, package or slot"},
             {2, "--map-by hwthread:PE=2",
              "--map-by hwthread is too small for 2 CPUs per rank; map by numa, package or "
              "slot"},
             {2, "--map-by core:PE=2 --bind-to hwthread", "a:0-1 a:2-3"}});
}

TEST(Mapping, NeedsToKnowWhatItMapsBy) {
  expect_on(
      {.machine = {.caches = 0}},
      {{2, "--map-by l3cache", "host a: no l3cache is known, so ranks cannot be mapped by it"},
       {2, "--map-by core --bind-to l3cache", "host a: CPUs 0-1 are not in a known l3cache"},
       {2, "--map-by core --rank-by l3cache",
        "host a: no l3cache is known, so ranks cannot be ranked by it"},
       {2, "--map-by l2cache", "a:0-1 a:2-3"}});
}

TEST(Mapping, OfAHostWithoutCpusBindsNobody) {
  const Cluster cluster{.machines = {HostModel{}}, .hosts = {{.name = "a"}}};
  const Plan plan = map_ranks(cluster, {.ranks = 3}, {3}, {.map_by = Unit::kSlot}).value();
  EXPECT_TRUE(plan.ranks[2].seat.cpus.is_empty());
  const MappingRules bound{.map_by = Unit::kSlot, .bind_to = Unit::kCore};
  EXPECT_EQ(map_ranks(cluster, {.ranks = 3}, {3}, bound).status().text(),
            "host a: no usable CPU is known");
}

}  // namespace
}  // namespace paceline::topology
