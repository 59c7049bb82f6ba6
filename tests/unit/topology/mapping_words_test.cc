#include <string>

#include <gtest/gtest.h>

#include "topology/placement/rules/mapping.h"

namespace paceline::topology {
namespace {

using Parser = Status (*)(const std::string&, MappingRules&);

MappingRules rules_of(Parser parse, const std::string& text) {
  MappingRules rules;
  const Status status = parse(text, rules);
  EXPECT_TRUE(status.ok()) << text << ": " << status.text();
  return rules;
}

std::string refused(Parser parse, const std::string& text) {
  const MappingRules before{.map_by = Unit::kSlot, .cpus_per_rank = 7};
  MappingRules rules = before;
  const Status status = parse(text, rules);
  EXPECT_EQ(rules, before) << text;
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  return status.text();
}

TEST(MappingWords, NameEveryUnit) {
  EXPECT_EQ(rules_of(parse_map_by, "slot"), (MappingRules{.map_by = Unit::kSlot}));
  EXPECT_EQ(rules_of(parse_map_by, "node"), (MappingRules{.map_by = Unit::kNode}));
  EXPECT_EQ(rules_of(parse_map_by, "package"), (MappingRules{.map_by = Unit::kPackage}));
  EXPECT_EQ(rules_of(parse_map_by, "Socket"), (MappingRules{.map_by = Unit::kPackage}));
  EXPECT_EQ(rules_of(parse_map_by, "NUMA"), (MappingRules{.map_by = Unit::kNuma}));
  EXPECT_EQ(rules_of(parse_map_by, "L3cache"), (MappingRules{.map_by = Unit::kL3}));
  EXPECT_EQ(rules_of(parse_map_by, "l2cache"), (MappingRules{.map_by = Unit::kL2}));
  EXPECT_EQ(rules_of(parse_map_by, "l1cache"), (MappingRules{.map_by = Unit::kL1}));
  EXPECT_EQ(rules_of(parse_map_by, "core"), (MappingRules{.map_by = Unit::kCore}));
  EXPECT_EQ(rules_of(parse_map_by, "hwthread"), (MappingRules{.map_by = Unit::kHwthread}));
}

TEST(MappingWords, OfMapByCanBeFollowedByOthers) {
  EXPECT_EQ(rules_of(parse_map_by, "ppr:2:package:PE=3"),
            (MappingRules{.map_by = Unit::kPackage, .ranks_per_unit = 2, .cpus_per_rank = 3}));
  EXPECT_EQ(rules_of(parse_map_by, "numa:span,pe=2:Oversubscribe"),
            (MappingRules{.map_by = Unit::kNuma,
                          .cpus_per_rank = 2,
                          .may_oversubscribe = true,
                          .spans_hosts = true}));
  EXPECT_EQ(rules_of(parse_map_by, "core:NOOVERSUBSCRIBE"), (MappingRules{.map_by = Unit::kCore}));
}

TEST(MappingWords, OfMapByMayLeaveTheUnitOut) {
  const MappingRules slots_only = rules_of(parse_map_by, ":OVERSUBSCRIBE");
  EXPECT_EQ(slots_only, (MappingRules{.may_oversubscribe = true}));
  EXPECT_FALSE(slots_only.is_any());
  EXPECT_EQ(rules_of(parse_map_by, ":PE=2"),
            (MappingRules{.map_by = Unit::kPackage, .cpus_per_rank = 2}));
  EXPECT_EQ(rules_of(parse_map_by, ":SPAN"),
            (MappingRules{.map_by = Unit::kPackage, .spans_hosts = true}));
}

TEST(MappingWords, OfRankBySayTheOrderToo) {
  EXPECT_EQ(rules_of(parse_rank_by, "slot"), (MappingRules{.rank_by = Unit::kSlot}));
  EXPECT_EQ(rules_of(parse_rank_by, "board"), (MappingRules{.rank_by = Unit::kNode}));
  EXPECT_EQ(rules_of(parse_rank_by, "socket:span"),
            (MappingRules{.rank_by = Unit::kPackage, .rank_order = RankOrder::kSpan}));
  EXPECT_EQ(rules_of(parse_rank_by, "numa:FILL"),
            (MappingRules{.rank_by = Unit::kNuma, .rank_order = RankOrder::kFill}));
  EXPECT_EQ(rules_of(parse_rank_by, "fill"), (MappingRules{.rank_order = RankOrder::kFill}));
  EXPECT_TRUE(rules_of(parse_rank_by, "span").is_mapping());
}

TEST(MappingWords, OfBindToSayWhetherMoreAreAllowed) {
  EXPECT_EQ(rules_of(parse_bind_to, "core:overload-allowed"),
            (MappingRules{.bind_to = Unit::kCore, .may_overload = true}));
  EXPECT_EQ(rules_of(parse_bind_to, ":overload-allowed"), (MappingRules{.may_overload = true}));
  EXPECT_EQ(rules_of(parse_bind_to, "package:if-supported,no-overload"),
            (MappingRules{.bind_to = Unit::kPackage}));
  EXPECT_EQ(rules_of(parse_bind_to, "none"), (MappingRules{.bind_to = Unit::kNode}));
  EXPECT_EQ(rules_of(parse_bind_to, "board"), (MappingRules{.bind_to = Unit::kNode}));
  EXPECT_FALSE(rules_of(parse_bind_to, "none").is_mapping());
  EXPECT_TRUE(rules_of(parse_bind_to, "none").is_any());
}

TEST(MappingWords, ThatMapByDoesNotKnow) {
  const std::string units =
      "slot, node, package, socket, numa, l3cache, l2cache, l1cache, core, hwthread";
  EXPECT_EQ(refused(parse_map_by, "nodes\n"),
            "--map-by 'nodes?': 'nodes?' is not a unit to map by; known are " + units +
                " and ppr:N:unit");
  EXPECT_EQ(refused(parse_map_by, ""),
            "--map-by '': the value is empty; known are " + units + " and ppr:N:unit");
  EXPECT_EQ(refused(parse_map_by, "core:fast"),
            "--map-by 'core:fast': 'fast' is not a modifier here; known are PE=n, SPAN, "
            "OVERSUBSCRIBE and "
            "NOOVERSUBSCRIBE");
  EXPECT_EQ(refused(parse_map_by, "numa:PE=0"),
            "--map-by 'numa:PE=0': n of PE=n must be a number of CPUs from 1 to 65536");
  EXPECT_EQ(refused(parse_map_by, "core:oversubscribe:nooversubscribe"),
            "--map-by 'core:oversubscribe:nooversubscribe': OVERSUBSCRIBE and NOOVERSUBSCRIBE "
            "exclude each other");
}

TEST(MappingWords, ThatOtherOptionsReplace) {
  EXPECT_EQ(refused(parse_map_by, "seq"), "--map-by 'seq': use --plan FILE to place each rank");
  EXPECT_EQ(refused(parse_map_by, "rankfile:FILE=x"),
            "--map-by 'rankfile:FILE=x': use --plan FILE to place each rank");
  EXPECT_EQ(refused(parse_map_by, "dist:span"),
            "--map-by 'dist:span': placement by cost already uses the distance from devices; leave "
            "out --map-by");
  EXPECT_EQ(refused(parse_bind_to, "cpu-list:ordered"),
            "--bind-to 'cpu-list:ordered': use --plan FILE to choose the CPUs of each rank");
}

TEST(MappingWords, OfRanksPerUnitThatAreWrong) {
  EXPECT_EQ(refused(parse_map_by, "ppr:2"), "--map-by 'ppr:2': write ppr:N:unit, as in ppr:2:numa");
  EXPECT_EQ(refused(parse_map_by, "ppr:0:numa"),
            "--map-by 'ppr:0:numa': '0' is not a number of ranks from 1 to 1048576");
  EXPECT_EQ(refused(parse_map_by, "ppr:2:slot"),
            "--map-by 'ppr:2:slot': 'slot' is not a unit; known are node, package, socket, numa, "
            "l3cache, l2cache, l1cache, core and hwthread");
  EXPECT_EQ(refused(parse_map_by, "ppr:2:socket,1:core"),
            "--map-by 'ppr:2:socket,1:core': ppr takes one kind of unit, not a list");
}

TEST(MappingWords, ThatRankByAndBindToDoNotKnow) {
  EXPECT_EQ(refused(parse_rank_by, "rank"),
            "--rank-by 'rank': 'rank' is not a unit to rank by; known are slot, node, package, "
            "socket, numa, l3cache, l2cache, l1cache, core, hwthread, fill and span");
  EXPECT_EQ(refused(parse_rank_by, "core:core"),
            "--rank-by 'core:core': 'core' is not a modifier here; known are span and fill");
  EXPECT_EQ(refused(parse_bind_to, "slot"),
            "--bind-to 'slot': 'slot' is not a unit to bind to; known are package, socket, numa, "
            "l3cache, l2cache, l1cache, core, hwthread, board and none");
  EXPECT_EQ(refused(parse_bind_to, "core:tight"),
            "--bind-to 'core:tight': 'tight' is not a modifier here; known are overload-allowed, "
            "no-overload and if-supported");
}

}  // namespace
}  // namespace paceline::topology
