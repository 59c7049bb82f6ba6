#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/backend/shm/tuning.h"

namespace paceline::shm {
namespace {

const Tuning kTuning{.machine = "0123456789abcdef",
                     .sizes = {{OperationKind::kAllReduce, 2, Limit::kOrdinary, 32768},
                               {OperationKind::kAllReduce, 2, Limit::kBuffers, 4096},
                               {OperationKind::kAllGather, 2, Limit::kOrdinary, 1024},
                               {OperationKind::kAllReduce, 4, Limit::kOrdinary, 512},
                               {OperationKind::kAllReduce, 4, Limit::kBuffers, 256},
                               {OperationKind::kAllGather, 4, Limit::kStaged, 8192}}};

TEST(ShmTuning, IsTheSameAfterItHasBeenText) {
  EXPECT_EQ(*parse_tuning(to_text(kTuning)), kTuning);
  EXPECT_EQ(*parse_tuning("paceline-tuning 1\n\n# a remark\nmachine x\n# another\n"),
            (Tuning{.machine = "x", .sizes = {}}));
}

TEST(ShmTuning, ALineThatIsNoneIsNamed) {
  const std::string head = "paceline-tuning 1\nmachine x\n";
  for (const std::string line :
       {"all_reduce", "all_reduce 2 buffers", "all_reduce 2 buffers 1 1", "none 2 buffers 1",
        "all_reduce 1 buffers 1", "all_reduce 2 memory 1", "all_reduce 2 buffers -1",
        "all_reduce 2 buffers 99999999999999999999", "all_reduce 9999 buffers 1"}) {
    const auto tuning = parse_tuning(head + line + "\n");
    ASSERT_FALSE(tuning.ok()) << line;
    EXPECT_NE(tuning.status().text().find(line), std::string::npos) << tuning.status().text();
  }
  EXPECT_FALSE(parse_tuning("").ok());
  EXPECT_FALSE(parse_tuning("paceline-tuning 2\n").ok());
  EXPECT_FALSE(parse_tuning("paceline-tuning 1\nall_reduce 2 buffers 1\n").ok());
}

TEST(ShmTuning, SizesAreThoseOfAsManyRanks) {
  const MeasuredSizes sizes = sizes_for(kTuning, 2);
  const auto of = [&](OperationKind kind) { return sizes[static_cast<std::size_t>(kind)]; };
  EXPECT_EQ(of(OperationKind::kAllReduce), (MeasuredLimits{32768, 4096, std::nullopt}));
  EXPECT_EQ(of(OperationKind::kAllGather), (MeasuredLimits{1024, std::nullopt, std::nullopt}));
  EXPECT_EQ(of(OperationKind::kBroadcast), MeasuredLimits());
  EXPECT_EQ(sizes_for(kTuning, 3), MeasuredSizes());
  EXPECT_EQ(sizes_for(part_for(kTuning, 4), 4), sizes_for(kTuning, 4));
  EXPECT_EQ(part_for(kTuning, 4).sizes.size(), 3u);
}

// Where its ways end, but for the last.
std::vector<std::size_t> ends(OperationKind kind, const MethodTerms& terms) {
  const Choice choice = choose(kind, terms);
  std::vector<std::size_t> all;
  for (const Way* way = choice.ways.data(); way->most_bytes != SIZE_MAX; ++way)
    all.push_back(way->most_bytes);
  return all;
}

TEST(ShmTuning, WhatWasMeasuredHoldsAsFarAsAPostHoldsIt) {
  MethodTerms terms{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  terms.measured = sizes_for(kTuning, 2);
  EXPECT_EQ(ends(OperationKind::kAllReduce, terms), (std::vector<std::size_t>{4096, 16384}));
  EXPECT_EQ(ends(OperationKind::kAllGather, terms), std::vector<std::size_t>{1024})
      << "in buffers as in ordinary memory";
  const MethodTerms built_in{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  EXPECT_EQ(choose(OperationKind::kBroadcast, terms), choose(OperationKind::kBroadcast, built_in));
}

TEST(ShmTuning, WhatGoesThroughChunksIsAsMeasuredWhereThereIsAChoice) {
  MethodTerms terms{.ranks = 4,
                    .shares_cpus = true,
                    .has_buffers = true,
                    .post_bytes = 4096,
                    .chunk_bytes = 6144};
  terms.measured = sizes_for(kTuning, 4);
  EXPECT_EQ(ends(OperationKind::kAllGather, terms), (std::vector<std::size_t>{4096, 6144}))
      << "in one chunk";
  terms.chunk_bytes = 65536;
  EXPECT_EQ(ends(OperationKind::kAllGather, terms), (std::vector<std::size_t>{4096, 8192}));
  terms.measured[static_cast<std::size_t>(OperationKind::kAllReduce)]
                [static_cast<std::size_t>(Limit::kStaged)] = 8192;
  EXPECT_EQ(ends(OperationKind::kAllReduce, terms), std::vector<std::size_t>{512});
  terms.shares_cpus = false;
  EXPECT_EQ(ends(OperationKind::kAllGather, terms), (std::vector<std::size_t>{3072, 4096}));
}

TEST(ShmTuning, WhoForcesAMethodIsObeyedAllTheSame) {
  MethodTerms terms{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  terms.measured = sizes_for(kTuning, 2);
  terms.forced = Method::kPipelined;
  EXPECT_EQ(ends(OperationKind::kAllReduce, terms), std::vector<std::size_t>{0});
}

}  // namespace
}  // namespace paceline::shm
