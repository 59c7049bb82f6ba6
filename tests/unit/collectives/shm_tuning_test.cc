#include <string>

#include <gtest/gtest.h>

#include "collectives/backend/shm/tuning.h"

namespace paceline::shm {
namespace {

const Tuning kTuning{.machine = "0123456789abcdef",
                     .sizes = {{OperationKind::kAllReduce, 2, TunedLimit::kOrdinary, 32768},
                               {OperationKind::kAllReduce, 2, TunedLimit::kBuffers, 4096},
                               {OperationKind::kAllGather, 2, TunedLimit::kOrdinary, 1024},
                               {OperationKind::kAllReduce, 4, TunedLimit::kOrdinary, 512},
                               {OperationKind::kAllReduce, 4, TunedLimit::kBuffers, 256},
                               {OperationKind::kAllGather, 4, TunedLimit::kStaged, 8192}}};

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
  EXPECT_EQ(of(OperationKind::kAllReduce).most_short,
            (MostShort{.bytes = 32768, .bytes_beside_buffers = 4096}));
  EXPECT_EQ(of(OperationKind::kAllReduce).most_staged, std::nullopt);
  EXPECT_EQ(of(OperationKind::kAllGather).most_short, std::nullopt) << "half of it is not known";
  EXPECT_EQ(of(OperationKind::kBroadcast), MeasuredSize());
  EXPECT_EQ(sizes_for(kTuning, 3), MeasuredSizes());
  EXPECT_EQ(sizes_for(part_for(kTuning, 4), 4), sizes_for(kTuning, 4));
  EXPECT_EQ(part_for(kTuning, 4).sizes.size(), 3u);
}

TEST(ShmTuning, WhatWasMeasuredHoldsAsFarAsAPostHoldsIt) {
  MethodTerms terms{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  terms.measured = sizes_for(kTuning, 2);
  EXPECT_EQ(choose(OperationKind::kAllReduce, terms).most_short,
            (MostShort{.bytes = 16384, .bytes_beside_buffers = 4096}));
  const MethodTerms built_in{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  EXPECT_EQ(choose(OperationKind::kBroadcast, terms), choose(OperationKind::kBroadcast, built_in));
}

TEST(ShmTuning, WhatGoesThroughChunksIsAsMeasuredWhereThereIsAChoice) {
  MethodTerms terms{.ranks = 4,
                    .cpus = 2,
                    .shares_cpus = true,
                    .has_buffers = true,
                    .post_bytes = 4096,
                    .chunk_bytes = 6144};
  terms.measured = sizes_for(kTuning, 4);
  EXPECT_EQ(choose(OperationKind::kAllGather, terms).most_staged, 6144u) << "in one chunk";
  terms.chunk_bytes = 65536;
  EXPECT_EQ(choose(OperationKind::kAllGather, terms).most_staged, 8192u);
  terms.measured[static_cast<std::size_t>(OperationKind::kAllReduce)].most_staged = 8192;
  EXPECT_EQ(choose(OperationKind::kAllReduce, terms).most_staged, 0u);
  terms.shares_cpus = false;
  EXPECT_EQ(choose(OperationKind::kAllGather, terms).most_staged, 0u);
}

TEST(ShmTuning, WhoForcesAMethodIsObeyedAllTheSame) {
  MethodTerms terms{.ranks = 2, .has_buffers = true, .post_bytes = 16384};
  terms.measured = sizes_for(kTuning, 2);
  terms.forced = Method::kPipelined;
  EXPECT_EQ(choose(OperationKind::kAllReduce, terms).most_short, MostShort());
}

}  // namespace
}  // namespace paceline::shm
