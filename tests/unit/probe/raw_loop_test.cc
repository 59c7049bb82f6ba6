#include "launcher/tools/measure/probe/raw/raw_loop.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "launcher/tools/measure/probe/loop/pattern.h"
#include "tests/unit/probe/shared_ranks.h"

namespace paceline::probe {
namespace {

// On both sides of each way that a message can take, and of its pieces; odd and prime ones.
constexpr std::size_t kCounts[] = {0,     1,     2,     13,     14,     15,    28,   29,
                                   127,   509,   512,   513,    4095,   4096,  4097, 32749,
                                   32768, 32769, 65537, 131071, 262147, 400009};

constexpr std::size_t kBufferBytes = 2 * (400009 * sizeof(float) + 4096);

class RawLoops : public ::testing::TestWithParam<int> {
 protected:
  // Every rank's end of the loop in a thread.
  template <class Body>
  void run(Body body) {
    const int ranks = GetParam();
    run_ranks(ranks, [&](int rank) {
      const auto raw = RawLoop::open(
          file_.path(), {.rank = rank, .ranks = ranks, .cpus = 1, .buffer_bytes = kBufferBytes},
          clock_);
      ASSERT_TRUE(raw.ok()) << raw.status().to_string();
      body(**raw);
    });
  }

  const SystemClock clock_;
  const NamelessFile file_;
};

template <class T>
void all_reduce_all(RawLoop& raw, ReduceOp op, bool in_place) {
  const Pattern pattern(kDataTypeOf<T>, op, raw.size());
  std::uint64_t call = 0;
  for (const std::size_t count : kCounts) {
    std::vector<T> out(count + 1, T{42}), in(count + 1, T{43});
    T* const from = in_place ? out.data() : in.data();
    pattern.fill({from, count, kDataTypeOf<T>}, raw.rank(), ++call);
    const Elements result{out.data(), count, kDataTypeOf<T>};
    ASSERT_TRUE(raw.all_reduce(from, result, op).ok());
    ASSERT_EQ(pattern.wrong_reduction(result, call), 0u) << count << " elements";
    ASSERT_EQ(out[count], T{42});
  }
}

TEST_P(RawLoops, AllReduceOfEverySize) {
  run([](RawLoop& raw) { all_reduce_all<float>(raw, ReduceOp::kSum, true); });
}

TEST_P(RawLoops, AllReduceOutOfPlace) {
  run([](RawLoop& raw) { all_reduce_all<std::int64_t>(raw, ReduceOp::kMin, false); });
}

TEST_P(RawLoops, AllReduceInBuffers) {
  run([](RawLoop& raw) {
    const Pattern pattern(DataType::kFloat32, ReduceOp::kSum, raw.size());
    const std::size_t most = *std::max_element(std::begin(kCounts), std::end(kCounts));
    auto* const in = reinterpret_cast<float*>(raw.allocate(most * sizeof(float)).value());
    auto* const out = reinterpret_cast<float*>(raw.allocate(most * sizeof(float)).value());
    EXPECT_EQ(raw.allocate(3 * 4096).status().code(), Code::kExhausted);
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      for (float* const from : {in, out}) {
        pattern.fill({from, count, DataType::kFloat32}, raw.rank(), ++call);
        const Elements result{out, count, DataType::kFloat32};
        ASSERT_TRUE(raw.all_reduce(from, result, ReduceOp::kSum).ok());
        ASSERT_EQ(pattern.wrong_reduction(result, call), 0u) << count << " elements";
        ASSERT_TRUE(raw.barrier().ok());
      }
    }
  });
}

TEST_P(RawLoops, BroadcastFromEveryRank) {
  run([](RawLoop& raw) {
    const Pattern pattern(DataType::kInt32, ReduceOp::kSum, raw.size());
    std::uint64_t call = 0;
    for (const std::size_t count : kCounts) {
      const int root = static_cast<int>(++call) % raw.size();
      std::vector<std::int32_t> values(count);
      const Elements buffer{values.data(), count, DataType::kInt32};
      if (raw.rank() == root) pattern.fill(buffer, root, call);
      ASSERT_TRUE(raw.broadcast(buffer, root).ok());
      ASSERT_EQ(pattern.wrong_copy(buffer, root, call), 0u) << count << " elements";
    }
  });
}

TEST_P(RawLoops, ManyShortOnesOfAllKinds) {
  run([](RawLoop& raw) {
    for (int i = 0; i < 300; ++i) {
      double value = raw.rank() + i;
      ASSERT_TRUE(raw.all_reduce(&value, {&value, 1, DataType::kFloat64}, ReduceOp::kMax).ok());
      ASSERT_EQ(value, raw.size() - 1 + i);
      ASSERT_TRUE(raw.broadcast({&value, 1, DataType::kFloat64}, i % raw.size()).ok());
      ASSERT_TRUE(i % 7 != 0 || raw.barrier().ok());
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RawLoops, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace paceline::probe
