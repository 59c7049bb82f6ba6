// Many tensors in one operation, and sums of what has been multiplied before.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/harness/ranks.h"

namespace paceline::testing {
namespace {

using Numbers = std::vector<std::int32_t>;

// Through shared memory an operation costs less, so fewer go together.
std::uint64_t operations_of(Mode mode) {
  const bool is_direct = mode == Mode::kDirectThreads || mode == Mode::kGatheringThreads;
  // 3, 0 and 1000; 20000; 1; 8192; 8193; 5; twelve of 8000.
  if (is_direct) return 18;
  // 3, 0 and 1000; 20000; 1 and 8192; 8193; 5 and eight of 8000; four of 8000.
  return 6;
}

class Tensors : public ::testing::TestWithParam<Mode> {
 protected:
  void run(int ranks, const std::function<Status(Communicator&)>& body) {
    const Status status = run_ranks({.mode = GetParam(), .ranks = ranks}, body);
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
};

// Small ones, none, some that fill what goes together, a large one between them; in place or not.
TEST_P(Tensors, OfEverySizeAreReduced) {
  run(3, [](Communicator& world) -> Status {
    std::vector<std::size_t> counts = {3, 0, 1000, 20'000, 1, 8192, 8193, 5};
    counts.insert(counts.end(), 12, 8000);
    for (const bool asynchronous : {false, true}) {
      std::vector<Numbers> inputs, outputs;
      std::vector<Tensor> tensors;
      for (const std::size_t count : counts) {
        inputs.emplace_back(count, world.rank() + static_cast<int>(count));
        outputs.emplace_back(count, -1);
      }
      for (std::size_t i = 0; i < counts.size(); ++i) {
        std::int32_t* const out = i % 3 == 0 ? inputs[i].data() : outputs[i].data();
        tensors.push_back({inputs[i].data(), out, counts[i]});
      }
      const std::uint64_t before = world.stats().operations;
      const Status status = asynchronous
                                ? world.all_reduce_many_async(tensors, DataType::kInt32).wait()
                                : world.all_reduce_many(tensors, DataType::kInt32);
      if (!status.ok()) return status;
      if (world.stats().operations - before != operations_of(GetParam()))
        return wrong(std::to_string(world.stats().operations - before) + " operations");
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const auto& result = i % 3 == 0 ? inputs[i] : outputs[i];
        if (result != Numbers(counts[i], 3 + 3 * static_cast<int>(counts[i])))
          return wrong("tensor " + std::to_string(i) + " is not the sum");
        if (i % 3 != 0 &&
            inputs[i] != Numbers(counts[i], world.rank() + static_cast<int>(counts[i])))
          return wrong("input " + std::to_string(i) + " has changed");
      }
    }
    return world.close();
  });
}

TEST_P(Tensors, ManyGroupsMayBeOutstanding) {
  run(2, [](Communicator& world) -> Status {
    constexpr std::size_t kGroups = 20;
    std::vector<std::array<std::int32_t, 3>> values(kGroups);
    std::vector<std::vector<Tensor>> tensors(kGroups);
    std::vector<Work> works;
    for (std::size_t i = 0; i < kGroups; ++i) {
      values[i].fill(static_cast<std::int32_t>(i));
      for (std::int32_t& value : values[i]) tensors[i].push_back({&value, &value, 1});
      works.push_back(world.all_reduce_many_async(tensors[i], DataType::kInt32));
    }
    for (std::size_t i = 0; i < kGroups; ++i) {
      if (Status status = works[i].wait(); !status.ok()) return status;
      if (values[i][1] != 2 * static_cast<std::int32_t>(i)) return wrong("another sum");
    }
    return world.close();
  });
}

TEST_P(Tensors, OfOtherCountsDisagree) {
  run(2, [](Communicator& world) -> Status {
    Numbers values(30);
    const std::size_t first = world.rank() == 0 ? 10 : 20;
    const std::array tensors = {Tensor{values.data(), values.data(), first},
                                Tensor{&values[first], &values[first], 30 - first}};
    Status status = world.all_reduce_many(tensors, DataType::kInt32);
    if (status.ok()) status = world.close();
    const bool named =
        status.code() == Code::kMismatch &&
        std::string(status.text()).find("the counts of the tensors differ") != std::string::npos;
    return named ? Status() : wrong("not named: " + status.to_string());
  });
}

TEST_P(Tensors, ThatTouchEachOtherAreRefused) {
  run(2, [](Communicator& world) -> Status {
    Numbers values(10), others(10);
    const std::vector<std::vector<Tensor>> lists = {
        {{values.data(), values.data(), 5}, {others.data(), &values[4], 5}},
        {{values.data(), others.data(), 5}, {others.data(), values.data(), 5}},
        {{values.data(), &values[1], 5}},
        {{nullptr, values.data(), 5}},
        {{values.data(), values.data(), 1}, {others.data(), others.data(), SIZE_MAX / 2}}};
    for (const std::vector<Tensor>& tensors : lists) {
      const Status status = world.all_reduce_many(tensors, DataType::kInt32);
      if (status.code() != Code::kInvalidArgument)
        return wrong("not refused: " + status.to_string());
    }
    // The same input twice is none, and neither is nothing at all.
    std::int32_t first = 0, second = 0;
    const std::array twice = {Tensor{values.data(), &first, 1}, Tensor{values.data(), &second, 1}};
    if (Status status = world.all_reduce_many(twice, DataType::kInt32); !status.ok()) return status;
    if (Status status = world.all_reduce_many({}, DataType::kInt32); !status.ok()) return status;
    return world.close();
  });
}

TEST_P(Tensors, AreMultipliedBeforeTheyAreSummed) {
  run(3, [](Communicator& world) -> Status {
    std::vector<float> small(3, 2.0F), large(20'000, 4.0F), out(20'000);
    const std::vector<Tensor> tensors = {{small.data(), small.data(), 1},
                                         {&small[1], &small[1], 2},
                                         {large.data(), out.data(), large.size()}};
    const ReduceRule rule =
        ReduceRule::pre_multiplied_sum(0.5F * static_cast<float>(world.rank() + 1));
    const Status status = world.all_reduce_many(tensors, DataType::kFloat32, rule);
    if (!status.ok()) return status;
    if (small != std::vector<float>(3, 6.0F) || out != std::vector<float>(20'000, 12.0F))
      return wrong("another sum");
    if (large.front() != 4.0F) return wrong("the input has changed");
    return world.close();
  });
}

TEST_P(Tensors, AFactorIsThereAndOfTheirType) {
  run(1, [](Communicator& world) -> Status {
    float value = 1;
    for (const ReduceRule& rule :
         {ReduceRule(ReduceOp::kPreMulSum), ReduceRule::pre_multiplied_sum(2.0)}) {
      const Status status = world.all_reduce(&value, &value, 1, DataType::kFloat32, rule);
      if (status.code() != Code::kInvalidArgument)
        return wrong("not refused: " + status.to_string());
    }
    return world.close();
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryWorld, Tensors,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads,
                                           Mode::kGatheringThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
