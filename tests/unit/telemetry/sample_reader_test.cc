#include "telemetry/job/sample_reader.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "comm/base/signature.h"

namespace paceline {
namespace {

using std::chrono::milliseconds;

constexpr TimePoint kFirstCall{std::chrono::seconds(100)};
constexpr std::size_t kMost = 64;

GroupOperations book_of(const OperationBook& book) {
  return {.group = "", .id = 1, .size = 2, .totals = book.totals(), .samples = book.samples()};
}

Signature all_reduce(std::uint64_t sequence) {
  return {.sequence = sequence,
          .count = 1,
          .kind = OperationKind::kAllReduce,
          .type = DataType::kFloat32};
}

TEST(SampleReader, PassesEachOperationOnOnceWhereTheyAreFew) {
  const auto book = std::make_unique<OperationBook>();
  SampleReader reader;
  std::vector<std::uint64_t> passed;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const TimePoint called = kFirstCall + milliseconds(i);
    book->note(all_reduce(i), {.called = called, .ended = called + milliseconds(1)});
    if (i % 20 != 19) continue;
    const RankSamples samples = reader.take(book_of(*book), kMost);
    EXPECT_EQ(samples.weight, 1u);
    for (const OperationSample& one : samples.samples) {
      EXPECT_EQ(one.bytes, sizeof(float));
      passed.push_back(one.sequence);
    }
  }
  std::ranges::sort(passed);
  ASSERT_EQ(passed.size(), 1000u);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(passed[i], i);
}

TEST(SampleReader, PassesAFewThatStandForAllWhereTheyAreMany) {
  const auto book = std::make_unique<OperationBook>();
  SampleReader reader;
  double stands_for = 0;
  for (std::uint64_t i = 0; i < 1000000; ++i) {
    book->note(all_reduce(i), {.called = kFirstCall, .ended = kFirstCall});
    if (i % 10000 != 9999) continue;
    const RankSamples samples = reader.take(book_of(*book), kMost);
    EXPECT_LE(samples.samples.size(), kMost);
    stands_for += static_cast<double>(samples.weight * samples.samples.size());
  }
  EXPECT_NEAR(stands_for, 1e6, 5e4);
}

TEST(SampleReader, KeepsToItsLimit) {
  const auto book = std::make_unique<OperationBook>();
  SampleReader reader;
  double stands_for = 0;
  for (std::uint64_t i = 0; i < 100000; ++i) {
    book->note(all_reduce(i), {.called = kFirstCall, .ended = kFirstCall});
    if (i % 10 != 9) continue;
    const RankSamples samples = reader.take(book_of(*book), 2);
    EXPECT_LE(samples.samples.size(), 2u);
    stands_for += static_cast<double>(samples.weight * samples.samples.size());
  }
  EXPECT_NEAR(stands_for, 1e5, 1e4);
}

// Agents look at different moments.
TEST(SampleReader, RanksPassOnTheSameOperations) {
  const auto book = std::make_unique<OperationBook>();
  SampleReader one, other;
  std::vector<std::uint64_t> ones, others;
  const auto look = [&book](SampleReader& reader, std::vector<std::uint64_t>& passed) {
    for (const OperationSample& sample : reader.take(book_of(*book), kMost).samples)
      passed.push_back(sample.sequence);
  };
  for (std::uint64_t i = 0; i < 300000; ++i) {
    book->note(all_reduce(i), {.called = kFirstCall, .ended = kFirstCall});
    if (i % 10000 == 9999) look(one, ones);
    if (i % 10000 == 3333) look(other, others);
  }
  std::ranges::sort(ones);
  std::ranges::sort(others);
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(ones, others, std::back_inserter(both));
  EXPECT_GT(both.size(), ones.size() / 2);
}

}  // namespace
}  // namespace paceline
