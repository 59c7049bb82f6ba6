// Which gradients travel together: what is promised of any schedule, and some that are known.
#include "collectives/gradient/schedule.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "collectives/gradient/bucket_line.h"
#include "comm/base/random.h"

namespace paceline {
namespace {

// One behind the other from 0 on, in kilobytes of 1024; all ready at 0, or when `ready_us` says.
std::vector<GradientTime> gradients(const std::vector<std::size_t>& kib,
                                    const std::vector<double>& ready_us = {}) {
  std::vector<GradientTime> all;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < kib.size(); ++i) {
    all.push_back(
        {.begin = begin, .bytes = kib[i] << 10, .ready_us = ready_us.empty() ? 0 : ready_us[i]});
    begin += all.back().bytes;
  }
  return all;
}

std::vector<std::vector<std::size_t>> places(const Schedule& schedule) {
  std::vector<std::vector<std::size_t>> all;
  for (const Bucket& bucket : schedule.buckets) all.push_back(bucket.gradients);
  return all;
}

using Places = std::vector<std::vector<std::size_t>>;

// Every byte once; one type in a bucket; each bucket names whom it has a part of.
void expect_whole(const Schedule& schedule, const std::vector<GradientTime>& all) {
  std::map<std::size_t, std::size_t> spans;  // by begin: bytes
  for (const Bucket& bucket : schedule.buckets) {
    ASSERT_FALSE(bucket.spans.empty());
    std::set<std::size_t> touched;
    for (const ByteSpan& span : bucket.spans) {
      EXPECT_TRUE(spans.emplace(span.begin, span.bytes).second);
      for (std::size_t i = 0; i < all.size(); ++i)
        if (all[i].bytes > 0 && all[i].begin < span.end() &&
            span.begin < all[i].begin + all[i].bytes)
          touched.insert(i);
    }
    EXPECT_EQ(std::vector<std::size_t>(touched.begin(), touched.end()), bucket.gradients);
    for (const std::size_t place : bucket.gradients)
      EXPECT_EQ(all[place].type, all[bucket.gradients.front()].type);
  }
  std::size_t end = 0, bytes = 0, wanted = 0;
  for (const auto& [begin, size] : spans) {
    EXPECT_GE(begin, end);
    end = begin + size;
    bytes += size;
  }
  for (const GradientTime& one : all) wanted += one.bytes;
  EXPECT_EQ(bytes, wanted);
}

TEST(Schedule, NothingToSendIsNoBucket) {
  EXPECT_TRUE(make_schedule({}, {}).buckets.empty());
  EXPECT_TRUE(make_schedule(gradients({0, 0}), {.alpha_us = 1}).buckets.empty());
  EXPECT_TRUE(fill_schedule(gradients({0}), 1024).buckets.empty());
  EXPECT_EQ(least_end({}, {.alpha_us = 1}), 0);
}

TEST(Schedule, WhatIsReadyTogetherGoesTogether) {
  const auto all = gradients({4, 4, 4}, {10, 10, 10});
  const Schedule schedule = make_schedule(all, {.alpha_us = 100, .beta_us = 0.001});
  EXPECT_EQ(places(schedule), (Places{{0, 1, 2}}));
  EXPECT_EQ(schedule.buckets.front().spans, (std::vector<ByteSpan>{{0, 12 << 10}}));
  EXPECT_DOUBLE_EQ(schedule.end_us, 10 + 100 + 12.288);
  EXPECT_DOUBLE_EQ(schedule.end_us, least_end(all, {.alpha_us = 100, .beta_us = 0.001}));
}

// The next one is nearer than an operation's own time.
TEST(Schedule, WhatIsReadySoonIsWaitedFor) {
  const PathCost path{.alpha_us = 100, .beta_us = 0.001};
  EXPECT_EQ(places(make_schedule(gradients({4, 4}, {90, 0}), path)), (Places{{0, 1}}));
  EXPECT_EQ(places(make_schedule(gradients({4, 4}, {110, 0}), path)), (Places{{1}, {0}}));
}

// While the large last one is on its way all others become ready; the first one is needed first.
// They are one and a half quanta: two buckets of the same size.
TEST(Schedule, WhatForwardNeedsFirstOvertakes) {
  const auto all = gradients({512, 512, 512, 4096}, {30, 20, 10, 0});
  const Schedule schedule =
      make_schedule(all, {.alpha_us = 1, .beta_us = 0.001},
                    {.least_quantum_bytes = 1 << 20, .most_quantum_bytes = 1 << 20});
  EXPECT_EQ(places(schedule), (Places{{3}, {0, 1}, {1, 2}, {3}, {3}, {3}}));
  expect_whole(schedule, all);
}

// In backward's order, each in its time. When the last one has been sent, there is less than a
// quantum of those before it, and more of them will come; of the other end there is enough.
TEST(Schedule, WhatStillGrowsIsLeftAloneWhileThereAreOthers) {
  const auto all = gradients({256, 256, 256, 2048}, {2900, 2000, 1100, 0});
  const ScheduleRules rules{.least_quantum_bytes = 1 << 20, .most_quantum_bytes = 1 << 20};
  const PathCost path{.alpha_us = 1, .beta_us = 0.001};
  EXPECT_EQ(places(make_schedule(all, path, rules)), (Places{{3}, {3}, {1, 2}, {0}}));
}

// Of 2.5 quanta that are ready together, 1.5 are left behind the first: two halves.
TEST(Schedule, NoSmallPieceIsLeftOfARun) {
  const auto all = gradients({2560});
  const ScheduleRules rules{.least_quantum_bytes = 1 << 20, .most_quantum_bytes = 1 << 20};
  std::vector<std::size_t> kib;
  for (const Bucket& bucket : make_schedule(all, {.beta_us = 0.001}, rules).buckets)
    kib.push_back(bucket.bytes() >> 10);
  EXPECT_EQ(kib, (std::vector<std::size_t>{1024, 768, 768}));
}

// The first one has just become ready when the wire gets free, and is needed first.
TEST(Schedule, WhatHasBeenReadyForSomeTimeGoesBeforeWhatHasJustBecome) {
  const auto all = gradients({1024, 1024, 1024}, {1040, 0, 0});
  const PathCost path{.alpha_us = 1, .beta_us = 0.001};
  ScheduleRules rules{.least_quantum_bytes = 1 << 20, .most_quantum_bytes = 1 << 20};
  EXPECT_EQ(places(make_schedule(all, path, rules)), (Places{{1}, {0}, {2}}));
  rules.ahead_us = 100;
  EXPECT_EQ(places(make_schedule(all, path, rules)), (Places{{1}, {2}, {0}}));
  const auto nothing_else = gradients({1024, 1024}, {1040, 0});
  EXPECT_EQ(places(make_schedule(nothing_else, path, rules)), (Places{{1}, {0}}));
}

TEST(Schedule, SpansThatAreApartGoTogetherWhileTheyAreSmall) {
  auto all = gradients({4, 4, 4, 4}, {0, 0, 0, 0});
  all[1].bytes = 0;
  const PathCost path{.alpha_us = 100, .beta_us = 0.001};
  const Schedule together = make_schedule(all, path);
  ASSERT_EQ(together.buckets.size(), 1u);
  EXPECT_EQ(together.buckets.front().spans,
            (std::vector<ByteSpan>{{0, 4 << 10}, {8 << 10, 8 << 10}}));
  EXPECT_EQ(places(make_schedule(all, path, {.together_bytes = 0})), (Places{{0}, {2, 3}}));
}

TEST(Schedule, TypesDoNotMix) {
  auto all = gradients({4, 4, 4});
  all[1].type = 1;
  for (const Schedule& schedule :
       {make_schedule(all, {.alpha_us = 100}), fill_schedule(all, 1 << 20)}) {
    expect_whole(schedule, all);
    EXPECT_EQ(schedule.buckets.size(), 2u);
  }
}

// As a pipeline stores them: gradients of one type adjoin.
std::vector<GradientTime> types_in_turn(std::size_t count, int types) {
  std::vector<GradientTime> all(count);
  std::size_t begin = 0;
  for (int type = 0; type < types; ++type) {
    for (auto i = static_cast<std::size_t>(type); i < count; i += static_cast<std::size_t>(types)) {
      all[i] = {.begin = begin,
                .bytes = 4 << 10,
                .type = type,
                .ready_us = 10.0 * static_cast<double>(count - i)};
      begin += all[i].bytes;
    }
  }
  return all;
}

TEST(Schedule, TypesInTurnTakeNoMoreBucketsThanTypesApart) {
  for (const int types : {1, 2, 3}) {
    const auto all = types_in_turn(600, types);
    for (const bool is_filled : {true, false}) {
      const PathCost path{.alpha_us = 3000, .beta_us = 0.0001};
      const Schedule schedule =
          is_filled ? fill_schedule(all, 4 << 20, path) : make_schedule(all, path);
      expect_whole(schedule, all);
      EXPECT_LE(schedule.buckets.size(), 3u + static_cast<std::size_t>(types)) << types;
      for (const Bucket& bucket : schedule.buckets) EXPECT_EQ(bucket.spans.size(), 1u);
      for (int type = 0; type < types; ++type) {
        double before = 0;
        for (const Bucket& bucket : schedule.buckets) {
          if (all[bucket.gradients.front()].type != type) continue;
          EXPECT_LE(before, bucket.ready_us) << "of type " << type;
          before = bucket.ready_us;
        }
      }
    }
  }
}

// Of each type there are two quanta. What forward needs first is of the other type each time.
TEST(Schedule, WhatForwardNeedsFirstOvertakesOtherTypes) {
  std::vector<GradientTime> all = gradients({1024, 1024, 1024, 1024});
  all[1].type = all[3].type = 1;
  const ScheduleRules rules{.least_quantum_bytes = 1 << 20, .most_quantum_bytes = 1 << 20};
  EXPECT_EQ(places(make_schedule(all, {.alpha_us = 1, .beta_us = 0.001}, rules)),
            (Places{{0}, {1}, {2}, {3}}));
}

TEST(Schedule, BucketsOfAFixedSizeAreFilledFromTheEnd) {
  const auto all = gradients({8, 8, 20, 4});
  const Schedule schedule = fill_schedule(all, 16 << 10);
  EXPECT_EQ(places(schedule), (Places{{2, 3}, {1, 2}, {0}}));
  EXPECT_EQ(schedule.buckets[0].spans, (std::vector<ByteSpan>{{24 << 10, 16 << 10}}));
  EXPECT_EQ(schedule.buckets[1].spans, (std::vector<ByteSpan>{{8 << 10, 16 << 10}}));
  expect_whole(schedule, all);
}

// Without times: not all first operations come before all second ones.
TEST(Schedule, OperationsOfABucketAreNotFarApart) {
  const Schedule schedule = fill_schedule(gradients(std::vector<std::size_t>(40, 16)), 16 << 10);
  const std::vector<std::size_t> operations(schedule.buckets.size(), 2);
  std::vector<std::size_t> began(operations.size());
  std::size_t place = 0;
  for (const Turn& turn : turns_of(schedule, operations)) {
    if (turn.operation == 0) began[turn.bucket] = place;
    EXPECT_LE(place - began[turn.bucket], 2 * BucketLine::kMostBegun + 1);
    ++place;
  }
  EXPECT_EQ(place, 80);
}

// However large: only what is apart is copied together, and only that has a limit.
TEST(Schedule, WhatAdjoinsABucketIsOnePieceWithIt) {
  const ScheduleRules rules{.together_bytes = 4 << 10};
  const auto all = gradients({300, 600, 8, 900});
  for (const std::vector<double>& ready_us :
       {std::vector<double>{0, 0, 0, 0}, {3, 2, 1, 0}, {0, 1, 2, 3}, {2, 0, 1, 3}}) {
    auto timed = all;
    for (std::size_t i = 0; i < timed.size(); ++i) timed[i].ready_us = ready_us[i];
    const Schedule schedule = fill_schedule(timed, 4 << 20, {}, rules);
    ASSERT_EQ(schedule.buckets.size(), 1u);
    EXPECT_EQ(schedule.buckets[0].spans, (std::vector<ByteSpan>{{0, 1808 << 10}}));
  }
}

// The second one is cut from its end, which is apart from the first one.
TEST(Schedule, ACutPartThatDoesNotAdjoinIsApart) {
  const auto all = gradients({600, 1000}, {0, 1});
  const Schedule schedule = fill_schedule(all, 1 << 20, {}, {.together_bytes = 256 << 10});
  EXPECT_EQ(places(schedule), (Places{{0}, {1}}));
  const Schedule small = fill_schedule(gradients({6, 10}, {0, 1}), 12 << 10);
  ASSERT_EQ(places(small), (Places{{0, 1}, {1}}));
  EXPECT_EQ(small.buckets[0].spans, (std::vector<ByteSpan>{{0, 6 << 10}, {10 << 10, 6 << 10}}));
}

// Wherever gradients are cut from.
TEST(Schedule, NoBucketIsOfSeveralPiecesBeyondItsLimit) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<std::size_t> kib;
    std::vector<double> ready;
    for (std::size_t i = 1 + random.below(20); i-- > 0;) {
      kib.push_back(random.below(1 << random.below(12)));
      ready.push_back(static_cast<double>(random.below(5000)));
    }
    const auto all = gradients(kib, ready);
    const ScheduleRules rules{.together_bytes = random.below(512 << 10)};
    const PathCost path{.alpha_us = 100, .beta_us = 0.001};
    const auto filled = fill_schedule(all, 64 + random.below(4 << 20), path, rules);
    for (const Schedule& schedule : {make_schedule(all, path, rules), filled}) {
      expect_whole(schedule, all);
      for (const Bucket& bucket : schedule.buckets)
        EXPECT_TRUE(bucket.spans.size() == 1 || bucket.bytes() <= rules.together_bytes);
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// Of 9,408 bytes, the least that are rows of 147 floats and vectors alike.
TEST(Schedule, WhatHasRowsIsCutBetweenThem) {
  std::vector<GradientTime> all = gradients({64, 588, 64});
  all[1].row_bytes = 147 * 4;
  for (const std::size_t bucket : {40'960U, 102'400U, 340'992U}) {
    for (const Schedule& schedule :
         {fill_schedule(all, bucket),
          make_schedule(all, {.alpha_us = 1, .beta_us = 0.01},
                        {.least_quantum_bytes = bucket, .most_quantum_bytes = bucket})}) {
      expect_whole(schedule, all);
      std::size_t cuts = 0;
      for (const Bucket& one : schedule.buckets) {
        EXPECT_LE(one.bytes(), bucket);
        for (const ByteSpan& span : one.spans) {
          if (span.begin <= all[1].begin || span.begin >= all[2].begin) continue;
          ++cuts;
          EXPECT_EQ((span.begin - all[1].begin) % 9408, 0u);
        }
      }
      EXPECT_GE(cuts, 1u);
    }
  }
}

TEST(Schedule, WhatHasLongRowsIsCutAnywhere) {
  std::vector<GradientTime> all = gradients({512});
  all[0].row_bytes = 100 << 10;
  const Schedule schedule = fill_schedule(all, 128 << 10);
  ASSERT_EQ(schedule.buckets.size(), 4u);
  for (const Bucket& one : schedule.buckets) EXPECT_EQ(one.bytes(), 128u << 10);
}

TEST(Schedule, OfAnyGradientsEveryByteGoesOnceAndNothingEndsTooEarly) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Random random(seed);
    std::vector<std::size_t> kib;
    std::vector<double> ready;
    const std::size_t count = 1 + random.below(40);
    for (std::size_t i = 0; i < count; ++i) {
      kib.push_back(random.below(8) == 0 ? 0 : random.below(1 << random.below(13)));
      ready.push_back(static_cast<double>(random.below(20000)));
    }
    auto all = gradients(kib, ready);
    for (GradientTime& one : all) {
      one.type = random.below(10) == 0 ? 1 : 0;
      one.row_bytes = 4 * random.below(1 << random.below(12));
    }
    const PathCost path{.alpha_us = static_cast<double>(1 + random.below(500)),
                        .beta_us = 0.0001 * static_cast<double>(1 + random.below(100))};
    const ScheduleRules rules{.ahead_us = static_cast<double>(random.below(2000))};
    const Schedule schedule = make_schedule(all, path, rules);
    expect_whole(schedule, all);
    EXPECT_NEAR(end_of(schedule.buckets, path), schedule.end_us, 1e-6 * schedule.end_us);
    EXPECT_GE(schedule.end_us, least_end(all, path) * (1 - 1e-9)) << "seed " << seed;
    expect_whole(fill_schedule(all, 64 + random.below(1 << 20)), all);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// Of a model with as many tensors as there are: all at once, and in an order that leaves thousands
// of runs that grow.
TEST(Schedule, TensOfThousandsOfGradientsTakeNoLonger) {
  Random random(1);
  for (const bool at_once : {true, false}) {
    std::vector<double> ready(20'000, 0);
    if (!at_once)
      for (double& one : ready) one = static_cast<double>(random.below(2'000'000));
    const Schedule schedule =
        make_schedule(gradients(std::vector<std::size_t>(ready.size(), 512), ready),
                      {.alpha_us = 50, .beta_us = 0.01});
    std::size_t bytes = 0;
    for (const Bucket& bucket : schedule.buckets) bytes += bucket.bytes();
    EXPECT_EQ(bytes, ready.size() * 512 << 10);
  }
}

// Where operations overlap, small buckets cost nothing as long as each takes longer than alpha.
TEST(Schedule, OperationsThatOverlapAreAsSmallAsMakesSense) {
  const auto all = gradients({64 << 10});
  const PathCost apart{.alpha_us = 500, .beta_us = 0.001};
  const PathCost overlapping{.alpha_us = 200, .beta_us = 0.001, .overlaps = true};
  const std::size_t bytes = std::size_t{64} << 20, quarter_mib = std::size_t{256} << 10;
  EXPECT_LT(make_schedule(all, apart).buckets.size(), 20u);
  const Schedule schedule = make_schedule(all, overlapping);
  EXPECT_EQ(schedule.buckets.size(), bytes / quarter_mib);
  EXPECT_NEAR(schedule.end_us, overlapping.of(bytes), 1e-6);
  expect_whole(schedule, all);
  const PathCost slow{.alpha_us = 2000, .beta_us = 0.001, .overlaps = true};
  EXPECT_EQ(make_schedule(all, slow).buckets.size(), bytes / (8 * quarter_mib))
      << "alpha is longer";
}

// Of the shape of real models: a few per cent at most beyond what any schedule could reach.
TEST(Schedule, IsNearTheBestWhereLayersAreManyAndTheWireIsSlow) {
  std::vector<std::size_t> kib;
  std::vector<double> ready;
  for (std::size_t i = 0; i < 160; ++i) {
    kib.push_back(i % 3 == 2 ? 1 : 4 + 10 * i);
    ready.push_back(5000.0 * static_cast<double>(160 - i));
  }
  const auto all = gradients(kib, ready);
  for (const double beta : {0.001, 0.004, 0.009, 0.02}) {
    const PathCost path{.alpha_us = 200, .beta_us = beta};
    EXPECT_LE(make_schedule(all, path).end_us, 1.02 * least_end(all, path)) << beta;
  }
}

}  // namespace
}  // namespace paceline
