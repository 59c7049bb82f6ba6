#include "topology/placement/model/job_shape.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace paceline::topology {
namespace {

std::string sizes(const std::string& text, int ranks) {
  const auto dimensions = parse_dimensions(text, ranks);
  if (!dimensions.ok()) return dimensions.status().text();
  std::string sizes;
  for (const Dimension& one : *dimensions)
    sizes += one.name + " " + std::to_string(one.size) + "; ";
  return sizes;
}

TEST(JobShape, OneSizeMayBeLeftOut) {
  EXPECT_EQ(sizes("tp=4,pp=2,dp=", 24), "tp 4; pp 2; dp 3; ");
  EXPECT_EQ(sizes("tp=,dp=3", 24), "tp 8; dp 3; ");
  EXPECT_EQ(sizes("tp=4,dp=6", 24), "tp 4; dp 6; ");
  EXPECT_EQ(sizes("", 7), "dp 7; ");
  EXPECT_EQ(sizes("dp=", 1), "dp 1; ");
  EXPECT_EQ(sizes("tp=1,dp=", 2147483647), "tp 1; dp 2147483647; ");
}

TEST(JobShape, NamesSayWhatIsSent) {
  const auto all = parse_dimensions("tp=2,cp=2,ep=2,pp=2,dp=2,mine=", 64).value();
  const std::vector<Dimension> expected = {
      {.name = "tp", .size = 2, .traffic = Traffic::kAllReduce, .mb_a_step = kTensorMb},
      {.name = "cp", .size = 2, .traffic = Traffic::kAllReduce, .mb_a_step = kContextMb},
      {.name = "ep", .size = 2, .traffic = Traffic::kAllToAll, .mb_a_step = kExpertMb},
      {.name = "pp", .size = 2, .traffic = Traffic::kNeighbours, .mb_a_step = kPipelineMb},
      {.name = "dp", .size = 2, .traffic = Traffic::kAllReduce, .mb_a_step = kGradientsMb},
      {.name = "mine", .size = 2, .traffic = Traffic::kAllReduce, .mb_a_step = kGradientsMb}};
  EXPECT_EQ(all, expected);
}

TEST(JobShape, WhatIsWrongIsNamed) {
  EXPECT_EQ(sizes("tp=4,dp=", 6),
            "shape \"tp=4,dp=\": the job has 6 ranks, which is not a multiple of 4");
  EXPECT_EQ(sizes("tp=4,dp=3", 8),
            "shape \"tp=4,dp=3\": the product is 12 ranks, but the job has 8 ranks");
  EXPECT_EQ(sizes("tp=4,dp=2147483647", 8),
            "shape \"tp=4,dp=2147483647\": the product is too many ranks, but the job has 8 ranks");
  EXPECT_EQ(sizes("tp=,dp=", 8), "shape \"tp=,dp=\": only one size may be left out");
  EXPECT_EQ(sizes("tp=2,tp=", 8), "shape \"tp=2,tp=\": \"tp\" occurs twice");
  EXPECT_EQ(sizes("tp=0,dp=", 8), "shape \"tp=0,dp=\": \"0\" is not a valid size for \"tp\"");
  EXPECT_EQ(sizes("tp=-2,dp=", 8), "shape \"tp=-2,dp=\": \"-2\" is not a valid size for \"tp\"");
  EXPECT_EQ(sizes("tp=2x,dp=", 8), "shape \"tp=2x,dp=\": \"2x\" is not a valid size for \"tp\"");
  EXPECT_EQ(sizes("tp=99999999999,dp=", 8),
            "shape \"tp=99999999999,dp=\": \"99999999999\" is not a valid size for \"tp\"");
  EXPECT_EQ(sizes("tp", 8), "shape \"tp\": \"tp\" is not of the form name=size");
  EXPECT_EQ(sizes("=4,dp=", 8), "shape \"=4,dp=\": \"=4\" is not of the form name=size");
  EXPECT_EQ(sizes("tp=2,", 8), "shape \"tp=2,\": \"\" is not of the form name=size");
  EXPECT_EQ(sizes("t\x1bp=2", 2), "shape \"t?p=2\": \"t?p=2\" is not of the form name=size");
  EXPECT_EQ(sizes("dp=", 0), "shape \"dp=\": a job needs at least one rank");
}

TEST(JobShape, ServersCarryTheLastThatAllReduces) {
  const auto carried = [](const std::string& text) {
    const JobShape job{.ranks = 8, .dimensions = parse_dimensions(text, 8).value()};
    return job.dimensions[carried_by_servers(job)].name;
  };
  EXPECT_EQ(carried("tp=2,dp="), "dp");
  EXPECT_EQ(carried("dp=4,pp="), "dp");
  EXPECT_EQ(carried("tp=8,dp="), "dp") << "even of one rank: its buffers go somewhere";
  EXPECT_EQ(carried("ep=4,pp="), "pp");
}

}  // namespace
}  // namespace paceline::topology
