// Steps of a gradient pipeline: the same body simulated, in threads and as processes.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/unit/collectives/gradient_modes.h"

namespace paceline::testing {
namespace {

// Small, none, odd, large enough to be cut.
std::vector<Parameter> some_parameters() {
  return {{"a", 3}, {"none", 0}, {"b", 1000},   {"c", 70'001},
          {"d", 1}, {"e", 4096}, {"f", 33'333}, {"g", 17}};
}

// A whole number below 64: sums of a few are exact in every type.
float value_of(int rank, std::uint64_t step, std::size_t parameter, std::size_t element) {
  return static_cast<float>(
      (static_cast<std::size_t>(rank) * 7 + step * 13 + parameter * 5 + element) % 64);
}

void fill(GradientPipeline& pipeline, std::size_t parameter, int rank, std::uint64_t step) {
  const std::span<float> gradient = pipeline.gradient<float>(parameter);
  for (std::size_t i = 0; i < gradient.size(); ++i)
    gradient[i] = value_of(rank, step, parameter, i);
}

// That it is the sum of what `ranks` have filled it with, over `divisor`.
Status check(GradientPipeline& pipeline, std::size_t parameter, const std::vector<int>& ranks,
             std::uint64_t step, float divisor) {
  const std::span<float> gradient = pipeline.gradient<float>(parameter);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    float sum = 0;
    for (const int rank : ranks) sum += value_of(rank, step, parameter, i);
    if (gradient[i] != sum / divisor)
      return wrong("step " + std::to_string(step) + ", " + pipeline.parameters()[parameter].name +
                   "[" + std::to_string(i) + "] is " + std::to_string(gradient[i]) +
                   " instead of " + std::to_string(sum / divisor));
  }
  return {};
}

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

TEST_P(Gradients, AreAveragesInAnyOrderOfReadiness) {
  run(3, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    for (std::uint64_t step = 0; step < 10; ++step) {
      for (const std::size_t i : shuffled(8, step * 3 + static_cast<std::uint64_t>(rank))) {
        fill(pipeline, i, rank, step);
        PACELINE_TRY(pipeline.ready(i));
      }
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      if (result.ranks != size || result.overflow) return wrong("the result");
      for (std::size_t i = 0; i < 8; ++i)
        PACELINE_TRY(check(pipeline, i, all_ranks(size), step, static_cast<float>(size)));
    }
    const GradientStats stats = pipeline.stats();
    if (stats.steps != 10 || stats.plans != 4) return wrong("steps or plans");
    return {};
  });
}

TEST_P(Gradients, AreSumsOfTheCopiesThatAreHandedIn) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), some_parameters(),
                                               {.is_average = false, .bucket_bytes = 10'000}));
    for (std::size_t i = 0; i < 8; ++i) {
      std::vector<float> copy(pipeline.parameters()[i].count);
      for (std::size_t j = 0; j < copy.size(); ++j) copy[j] = value_of(rank, 0, i, j);
      PACELINE_TRY(pipeline.ready(i, copy.data()));
    }
    PACELINE_TRY(pipeline.wait().status());
    for (std::size_t i = 0; i < 8; ++i) PACELINE_TRY(check(pipeline, i, all_ranks(size), 0, 1));
    return {};
  });
}

TEST_P(Gradients, OfEveryTypeAreAveraged) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world),
                                                              {{"double", 5, DataType::kFloat64},
                                                               {"half", 7, DataType::kFloat16},
                                                               {"bfloat", 9, DataType::kBFloat16},
                                                               {"float", 11}},
                                                              {.computes_norm = true}));
    const float mine = static_cast<float>(1 + 2 * rank);
    std::ranges::fill(pipeline.gradient<double>(0), static_cast<double>(mine));
    std::ranges::fill(pipeline.gradient<Float16>(1), Float16(mine));
    std::ranges::fill(pipeline.gradient<BFloat16>(2), BFloat16(mine));
    std::ranges::fill(pipeline.gradient<float>(3), mine);
    PACELINE_TRY_ASSIGN(const StepResult result, [&]() -> Result<StepResult> {
      for (std::size_t i = 0; i < 4; ++i) PACELINE_TRY(pipeline.ready(i));
      return pipeline.wait();
    }());
    if (result.norm != std::sqrt(32 * 4.0)) return wrong("norm " + std::to_string(result.norm));
    if (pipeline.gradient<double>(0)[4] != 2 || pipeline.gradient<Float16>(1)[6].to_float() != 2 ||
        pipeline.gradient<BFloat16>(2)[8].to_float() != 2 || pipeline.gradient<float>(3)[10] != 2)
      return wrong("an average");
    return {};
  });
}

// What is unused on a rank counts as zeros of that rank, whatever lay there before.
TEST_P(Gradients, ThatAreUnusedOnSomeRanksAreZerosThere) {
  run(3, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    for (std::uint64_t step = 0; step < 4; ++step) {
      const auto uses = [&](int who, std::size_t i) {
        return (step + static_cast<std::size_t>(who) + i) % 3 != 0;
      };
      for (std::size_t i = 8; i-- > 0;) {
        fill(pipeline, i, rank, step);
        if (uses(rank, i)) PACELINE_TRY(pipeline.ready(i));
      }
      PACELINE_TRY(pipeline.wait().status());
      for (std::size_t i = 0; i < 8; ++i) {
        std::vector<int> used;
        for (const int who : all_ranks(size))
          if (uses(who, i)) used.push_back(who);
        PACELINE_TRY(check(pipeline, i, used, step, static_cast<float>(size)));
      }
    }
    return {};
  });
}

TEST_P(Gradients, OfMicroStepsAreSummedUpHere) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 5}, {"b", 4}}));
    for (int step = 0; step < 3; ++step) {
      std::ranges::fill(pipeline.gradient<float>(0), 0.0f);
      std::ranges::fill(pipeline.gradient<float>(1), 0.0f);
      for (int micro = 0; micro < 3; ++micro) {
        PACELINE_TRY(pipeline.set_accumulating(micro < 2));
        for (float& one : pipeline.gradient<float>(0)) one += static_cast<float>(1 + rank);
        PACELINE_TRY(pipeline.ready(0));
        // The second one has been written in the first micro-step alone.
        if (micro == 0) {
          for (float& one : pipeline.gradient<float>(1)) one += 8;
          PACELINE_TRY(pipeline.ready(1));
        }
        PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
        if (result.ranks != (micro < 2 ? 0 : size)) return wrong("ranks");
      }
      if (pipeline.gradient<float>(0)[4] != 4.5f || pipeline.gradient<float>(1)[3] != 8)
        return wrong("step " + std::to_string(step));
    }
    return pipeline.stats().steps == 3 ? Status() : wrong("steps");
  });
}

TEST_P(Gradients, OfARankThatSumsUpOtherwiseAreNamed) {
  const Status status = status_of(3, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a", 5}}));
    PACELINE_TRY(pipeline.set_accumulating(true));
    if (rank == 1) PACELINE_TRY(pipeline.wait().status());
    PACELINE_TRY(pipeline.set_accumulating(false));
    const Status mismatch = pipeline.wait().status();
    if (mismatch.code() != Code::kMismatch || mismatch.culprit().rank != 1)
      return wrong("told: " + mismatch.to_string());
    if (mismatch.text().find("sums up 2 micro-steps, not 1 micro-step as rank 0") ==
        std::string::npos)
      return wrong("told: " + mismatch.text());
    return pipeline.ready(0).code() == Code::kMismatch ? Status() : wrong("it goes on");
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// Ranks with 5, 2 and 0 steps of data.
TEST_P(Gradients, AreThoseOfTheRanksThatStillHaveData) {
  run(3, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    constexpr std::array<std::uint64_t, 3> kSteps = {5, 2, 0};
    const auto with_data = [&](std::uint64_t step) {
      std::vector<int> ranks;
      for (int one = 0; one < 3; ++one)
        if (step < kSteps[static_cast<std::size_t>(one)]) ranks.push_back(one);
      return ranks;
    };
    for (std::uint64_t step = 0; step < 6; ++step) {
      const std::vector<int> ranks = with_data(step);
      int told = 0;
      if (step < kSteps[static_cast<std::size_t>(rank)]) {
        for (std::size_t i = 8; i-- > 0;) {
          fill(pipeline, i, rank, step);
          PACELINE_TRY(pipeline.ready(i));
        }
        PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
        told = result.ranks;
      } else if (!ranks.empty() || rank != 0 || step == 5) {
        PACELINE_TRY_ASSIGN(const std::optional<StepResult> result, pipeline.join());
        if (result.has_value() == ranks.empty()) return wrong("the end");
        told = result ? result->ranks : 0;
      }
      if (told != static_cast<int>(ranks.size())) return wrong("ranks with data");
      for (std::size_t i = 0; i < 8 && !ranks.empty(); ++i)
        PACELINE_TRY(check(pipeline, i, ranks, step, static_cast<float>(ranks.size())));
    }
    return {};
  });
}

TEST_P(Gradients, ThatAreNotFiniteAreNamed) {
  run(3, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    for (std::uint64_t step = 0; step < 3; ++step) {
      for (std::size_t i = 8; i-- > 0;) {
        fill(pipeline, i, rank, step);
        if (step == 1 && rank > 0 && i == 3)
          pipeline.gradient<float>(3)[70'000] = rank == 1 ? std::numeric_limits<float>::quiet_NaN()
                                                          : -std::numeric_limits<float>::infinity();
        PACELINE_TRY(pipeline.ready(i));
      }
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      if (step == 1) {
        if (result.overflow != Overflow{.rank = 1, .parameter = 3}) return wrong("who overflowed");
      } else {
        if (result.overflow) return wrong("nobody overflowed");
        PACELINE_TRY(check(pipeline, 3, all_ranks(size), step, static_cast<float>(size)));
      }
    }
    return {};
  });
}

TEST_P(Gradients, ThatOverflowTogetherAreNobodysFault) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 2}, {"b", 2}}));
    pipeline.gradient<float>(1)[1] = std::numeric_limits<float>::max();
    PACELINE_TRY(pipeline.ready(1));
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    if (result.overflow != Overflow{.rank = -1, .parameter = 1}) return wrong("who overflowed");
    return {};
  });
}

TEST_P(Gradients, AreThereOneByOneForTheNextForward) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    for (std::uint64_t step = 0; step < 4; ++step) {
      for (std::size_t i = 8; i-- > 0;) {
        fill(pipeline, i, rank, step);
        PACELINE_TRY(pipeline.ready(i));
      }
      for (std::size_t i = 0; i < 8; ++i) {
        PACELINE_TRY(pipeline.wait(i));
        PACELINE_TRY(check(pipeline, i, all_ranks(size), step, static_cast<float>(size)));
      }
      const Status early = pipeline.ready(2);
      if (early.text() !=
          "gradient 2 (b) is ready, but wait() was not called for the previous step")
        return wrong(early.to_string());
      PACELINE_TRY(pipeline.wait().status());
    }
    return {};
  });
}

TEST_P(Gradients, ThatAreFrozenStayAsTheyAre) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    for (std::uint64_t step = 0; step < 6; ++step) {
      PACELINE_TRY(pipeline.set_frozen(3, step % 2 == 1));
      for (std::size_t i = 8; i-- > 0;) {
        fill(pipeline, i, rank, step);
        if (i == 3 && step % 2 == 1) {
          if (pipeline.ready(3).text() != "gradient 3 (c) is frozen") return wrong("it is frozen");
          continue;
        }
        PACELINE_TRY(pipeline.ready(i));
      }
      PACELINE_TRY(pipeline.wait().status());
      const bool is_frozen = step % 2 == 1;
      PACELINE_TRY(check(pipeline, 3, is_frozen ? std::vector{rank} : all_ranks(size), step,
                         is_frozen ? 1.0f : static_cast<float>(size)));
      PACELINE_TRY(check(pipeline, 5, all_ranks(size), step, static_cast<float>(size)));
    }
    return {};
  });
}

TEST_P(Gradients, AreNotTakenTwiceNorFromNowhere) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a\n", 5}}));
    PACELINE_TRY(pipeline.ready(0));
    if (pipeline.ready(0).text() !=
        "gradient 0 (a?) is ready more than once; call wait() before the next backward")
      return wrong(pipeline.ready(0).text());
    if (pipeline.ready(1).text() != "gradient 1 does not exist; the number of gradients is 1")
      return wrong(pipeline.ready(1).text());
    if (pipeline.wait(7).code() != Code::kInvalidArgument) return wrong("wait(7)");
    if (pipeline.join().status().code() != Code::kInvalidArgument) return wrong("join");
    if (pipeline.set_frozen(0, true).code() != Code::kInvalidArgument) return wrong("set_frozen");
    if (pipeline.set_accumulating(true).code() != Code::kInvalidArgument)
      return wrong("accumulate");
    PACELINE_TRY(pipeline.wait().status());
    return pipeline.wait().status();  // a step in which nothing is used
  });
}

TEST_P(Gradients, OfOddOptionsAreRefused) {
  for (const auto& [options, told] :
       {std::pair(GradientOptions{.error_budget = -1},
                  "error_budget -1 is not allowed; use 0 or more"),
        std::pair(GradientOptions{.top_k_share = 0},
                  "top_k_share 0 is not allowed; use more than 0, and at most 1"),
        std::pair(GradientOptions{.power_sgd_rank = 0},
                  "power_sgd_rank 0 is not allowed; use 1 to 256"),
        std::pair(GradientOptions{.codec = Codec::kAuto, .forces_codec = true},
                  "forces_codec is not allowed with codec kAuto; name a codec")}) {
    run(2, [&](Communicator& world, int, int) -> Status {
      const auto made = GradientPipeline::over(std::move(world), {{"a", 5}}, options);
      if (made.status().code() != Code::kInvalidArgument || made.status().text() != told)
        return wrong(made.status().to_string());
      return {};
    });
  }
}

TEST_P(Gradients, OfOtherParametersAreRefusedOnEveryRank) {
  const Status status = status_of(3, [](Communicator& world, int rank, int) -> Status {
    const auto count = static_cast<std::size_t>(rank == 2 ? 6 : 5);
    const auto made = GradientPipeline::over(std::move(world), {{"a", count}});
    if (made.status().code() != Code::kMismatch || made.status().culprit().rank != 2)
      return wrong(made.status().to_string());
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// Else it would say goodbye in its parent's name.
TEST_P(Gradients, AreNotEndedByAForkedChild) {
  if (GetParam() == Mode::kSimulation) GTEST_SKIP() << "simulated ranks share a process";
  run(2, [](Communicator& world, int rank, int size) -> Status {
    std::optional<GradientPipeline> pipeline;
    PACELINE_TRY_ASSIGN(pipeline, GradientPipeline::over(std::move(world), some_parameters()));
    PACELINE_TRY(pipeline->ready(2));
    if (const pid_t child = ::fork(); child == 0) {
      pipeline.reset();
      ::_exit(0);
    } else {
      ::waitpid(child, nullptr, 0);
    }
    fill(*pipeline, 3, rank, 0);
    PACELINE_TRY(pipeline->ready(3));
    PACELINE_TRY(pipeline->wait().status());
    return check(*pipeline, 3, all_ranks(size), 0, static_cast<float>(size));
  });
}

TEST_P(Gradients, AreFloatingNumbers) {
  run(1, [](Communicator& world, int, int) -> Status {
    const auto made = GradientPipeline::over(std::move(world), {{"a", 5, DataType::kInt32}});
    if (made.status().text() != "parameter 0 (a): its type is not a floating-point type")
      return wrong(made.status().to_string());
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, Gradients,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kProcesses,
                                           Mode::kDirect, Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
