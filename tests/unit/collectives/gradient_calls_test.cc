// Calls of a gradient pipeline as trainers make them: micro-steps with copies, shared weights, a
// loss scale that changes, wrong arguments, ends in the middle of a step.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/clock.h"
#include "comm/base/try.h"
#include "tests/unit/collectives/gradient_modes.h"

namespace paceline::testing {
namespace {

class GradientCalls : public Gradients {};

Status expect_elements(std::span<const float> elements, float wanted) {
  for (const float one : elements)
    if (one != wanted) return wrong(std::to_string(one) + " instead of " + std::to_string(wanted));
  return {};
}

Status expect_text(const Status& status, const std::string& part) {
  if (status.text().find(part) != std::string::npos) return {};
  return wrong("'" + status.to_string() + "' does not contain '" + part + "'");
}

TEST_P(GradientCalls, CopiesOfMicroStepsAreAdded) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 100}, {"b", 1}, {"c", 9}}));
    const std::vector<float> ones(100, static_cast<float>(1 + rank));
    for (int step = 0; step < 3; ++step) {
      for (int micro_step = 0; micro_step < 4; ++micro_step) {
        PACELINE_TRY(pipeline.set_accumulating(micro_step < 3));
        PACELINE_TRY(pipeline.ready(0, ones.data()));
        if (micro_step == 1) PACELINE_TRY(pipeline.ready(1, ones.data()));
        PACELINE_TRY(pipeline.wait().status());
      }
      PACELINE_TRY(expect_elements(pipeline.gradient<float>(0), 6));
      PACELINE_TRY(expect_elements(pipeline.gradient<float>(1), 1.5F));
      PACELINE_TRY(expect_elements(pipeline.gradient<float>(2), 0));
    }
    return {};
  });
}

TEST_P(GradientCalls, CopiesOfEveryTypeAreAdded) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 3, DataType::kFloat16},
                                                                  {"b", 3, DataType::kBFloat16},
                                                                  {"c", 3, DataType::kFloat64}}));
    const std::vector<Float16> halves(3, Float16(1.5F));
    const std::vector<BFloat16> brains(3, BFloat16(2.5F));
    const std::vector<double> doubles(3, 0.25);
    for (const bool is_accumulating : {true, false}) {
      PACELINE_TRY(pipeline.set_accumulating(is_accumulating));
      PACELINE_TRY(pipeline.ready(0, halves.data()));
      PACELINE_TRY(pipeline.ready(1, brains.data()));
      PACELINE_TRY(pipeline.ready(2, doubles.data()));
      PACELINE_TRY(pipeline.wait().status());
    }
    if (pipeline.gradient<Float16>(0)[2].to_float() != 3 ||
        pipeline.gradient<BFloat16>(1)[2].to_float() != 5 || pipeline.gradient<double>(2)[2] != 0.5)
      return wrong("a sum");
    return {};
  });
}

// Weights that an embedding and a head share.
TEST_P(GradientCalls, SharedWeightsAreReadyAfterTheLastUse) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"tied", 5, DataType::kFloat32, 0,
                                                                   /*uses=*/3},
                                                                  {"b", 2}}));
    const std::vector<float> part(5, static_cast<float>(1 + rank));
    for (int step = 0; step < 3; ++step) {
      const int uses = step == 1 ? 2 : 3;  // a step that leaves one out
      for (int use = 0; use < uses; ++use) PACELINE_TRY(pipeline.ready(0, part.data()));
      PACELINE_TRY(pipeline.ready(1));
      if (uses == 3)
        PACELINE_TRY(expect_text(pipeline.ready(0, part.data()),
                                 "gradient 0 (tied) is ready more than 3 times"));
      PACELINE_TRY(pipeline.wait().status());
      PACELINE_TRY(expect_elements(pipeline.gradient<float>(0), 1.5F * static_cast<float>(uses)));
    }
    return {};
  });
}

TEST_P(GradientCalls, AveragesOfFloat16DoNotOverflow) {
  run(3, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world),
                                                              {{"a", 70'000, DataType::kFloat16}}));
    const std::vector<Float16> large(70'000, Float16(60'000));
    for (int step = 0; step < 3; ++step) {
      PACELINE_TRY(pipeline.ready(0, large.data()));
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      if (result.overflow) return wrong("overflow");
      for (const Float16 one : pipeline.gradient<Float16>(0))
        if (one.to_float() != 60'000) return wrong(std::to_string(one.to_float()));
    }
    // The ranks that have data are fewer than all.
    if (rank > 0) PACELINE_TRY(pipeline.ready(0, large.data()));
    PACELINE_TRY_ASSIGN(const auto result, [&]() -> Result<std::optional<StepResult>> {
      if (rank == 0) return pipeline.join();
      PACELINE_TRY_ASSIGN(const StepResult own, pipeline.wait());
      return std::optional(own);
    }());
    if (!result || result->ranks != 2 || result->overflow) return wrong("the step with a join");
    for (const Float16 one : pipeline.gradient<Float16>(0))
      if (one.to_float() != 60'000) return wrong(std::to_string(one.to_float()) + " with a join");
    return {};
  });
}

TEST_P(GradientCalls, OfNoGradientAreRefused) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 5}, {"none", 0}}));
    if (!pipeline.gradient(2).empty() || !pipeline.gradient(SIZE_MAX).empty())
      return wrong("memory of no gradient");
    PACELINE_TRY(expect_text(pipeline.ready(2, &pipeline), "gradient 2 does not exist"));
    PACELINE_TRY(expect_text(pipeline.ready(0, nullptr), "gradient 0 (a): the pointer is null"));
    PACELINE_TRY(pipeline.ready(1, nullptr));
    PACELINE_TRY(pipeline.ready(0));
    PACELINE_TRY(expect_text(pipeline.ready(0),
                             "gradient 0 (a) is ready more than once; call wait() before"));
    return pipeline.wait().status();
  });
}

TEST_P(GradientCalls, OfAPipelineThatWasMovedFromAreRefused) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a", 5}}));
    const GradientPipeline taken = std::move(pipeline);
    const float one = 0;
    for (const Status& status :
         {pipeline.ready(0), pipeline.ready(0, &one), pipeline.wait(0), pipeline.wait().status(),
          pipeline.join().status(), pipeline.set_accumulating(true), pipeline.set_frozen(0, true),
          pipeline.set_loss_scale(2), pipeline.set_timeout(std::chrono::seconds(1)),
          pipeline.load_state({}), pipeline.failure()}) {
      if (status.code() != Code::kInvalidArgument) return wrong(status.to_string());
      PACELINE_TRY(expect_text(status, "moved from"));
    }
    pipeline.abort();
    if (!pipeline.gradient(0).empty() || !pipeline.state().empty() ||
        !pipeline.parameters().empty() || pipeline.stats().buckets != 0 ||
        !pipeline.describe().empty())
      return wrong("what it returns");
    return {};
  });
}

// Else the others would wait for the rank that is refused alone.
TEST_P(GradientCalls, WrongOptionsOfOneRankEndTheCreationOnAllRanks) {
  for (const int bad : {0, 1, 2}) {
    run(3, [bad](Communicator& world, int rank, int) -> Status {
      const auto made = GradientPipeline::over(std::move(world), {{"a", 5}},
                                               {.power_sgd_rank = rank == bad ? 0 : 4});
      if (made.status().code() != Code::kMismatch || made.status().culprit().rank != bad)
        return wrong(made.status().to_string());
      return rank == bad ? expect_text(made.status(), "power_sgd_rank 0 is not allowed") : Status();
    });
  }
}

TEST_P(GradientCalls, WrongParametersOfOneRankEndTheCreationOnAllRanks) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    const DataType type = rank == 1 ? DataType::kInt32 : DataType::kFloat32;
    const auto made = GradientPipeline::over(std::move(world), {{"a", 5, type}});
    if (made.status().code() != Code::kMismatch || made.status().culprit().rank != 1)
      return wrong(made.status().to_string());
    return {};
  });
}

// With int8, 0.001 beside 1 is lost in each step, and added to the next.
Status train_scaled(GradientPipeline& pipeline, float scale) {
  const std::span<float> gradient = pipeline.gradient<float>(0);
  std::ranges::fill(gradient, 0.001F * scale);
  gradient[0] = scale;
  PACELINE_TRY(pipeline.ready(0));
  return pipeline.wait().status();
}

TEST_P(GradientCalls, ErrorsOfCodecsFollowTheLossScale) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 128}},
                                               {.codec = Codec::kInt8, .forces_codec = true}));
    double sum = 0;
    float scale = 65536;
    PACELINE_TRY(pipeline.set_loss_scale(scale));
    constexpr int kSteps = 40;
    for (int step = 0; step < kSteps; ++step) {
      if (step % 5 == 4) PACELINE_TRY(pipeline.set_loss_scale(scale /= 4));
      PACELINE_TRY(train_scaled(pipeline, scale));
      sum += static_cast<double>(pipeline.gradient<float>(0)[64]) / static_cast<double>(scale);
    }
    const double error = std::abs(sum - 0.001 * kSteps);
    if (error > 0.008) return wrong("the sum of all steps is " + std::to_string(sum));
    for (const double bad : {0.0, -1.0, HUGE_VAL, std::nan("")})
      if (pipeline.set_loss_scale(bad).code() != Code::kInvalidArgument)
        return wrong("a bad scale");
    return {};
  });
}

TEST_P(GradientCalls, AStateFollowsTheLossScale) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 128}},
                                               {.codec = Codec::kInt8, .forces_codec = true}));
    PACELINE_TRY(pipeline.set_loss_scale(1024));
    PACELINE_TRY(train_scaled(pipeline, 1024));
    const std::vector<std::byte> saved = pipeline.state();
    PACELINE_TRY(pipeline.set_loss_scale(2048));
    const std::vector<std::byte> rescaled = pipeline.state();
    if (saved == rescaled) return wrong("nothing was rescaled");
    PACELINE_TRY(pipeline.load_state(saved));
    return pipeline.state() == rescaled ? Status() : wrong("the state that was loaded");
  });
}

TEST_P(GradientCalls, OtherLossScalesAreAMismatch) {
  const Status status = status_of(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a", 5}}));
    PACELINE_TRY(pipeline.set_loss_scale(rank == 1 ? 2 : 1));
    PACELINE_TRY(pipeline.ready(0));
    const Status ended = pipeline.wait().status();
    if (ended.code() != Code::kMismatch || ended.culprit().rank != 1)
      return wrong(ended.to_string());
    PACELINE_TRY(expect_text(ended, "loss scale"));
    // The failure, and nothing about steps.
    for (const Status& later :
         {pipeline.set_accumulating(true), pipeline.set_frozen(0, true), pipeline.set_loss_scale(2),
          pipeline.load_state({}), pipeline.failure()})
      if (later.text() != ended.text()) return wrong(later.to_string());
    return {};
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

// The gradients are zeros after it was frozen, so nothing is left to deliver.
TEST_P(GradientCalls, FreezingDiscardsTheErrorOfTheCodec) {
  for (const Codec codec : {Codec::kInt8, Codec::kTopK, Codec::kPowerSgd}) {
    run(2, [codec](Communicator& world, int rank, int) -> Status {
      PACELINE_TRY_ASSIGN(
          auto pipeline,
          GradientPipeline::over(std::move(world), {{"a", 4096, DataType::kFloat32, 64}, {"b", 64}},
                                 {.codec = codec, .forces_codec = true, .power_sgd_rank = 1}));
      for (int step = 0; step < 5; ++step) {
        for (std::size_t i = 0; i < 4096; ++i)
          pipeline.gradient<float>(0)[i] =
              std::sin(static_cast<float>(i * i + static_cast<std::size_t>(step + rank)));
        PACELINE_TRY(pipeline.ready(0));
        PACELINE_TRY(pipeline.wait().status());
      }
      const std::vector<std::byte> before = pipeline.state();
      PACELINE_TRY(pipeline.set_frozen(0, true));
      PACELINE_TRY(pipeline.load_state(before));
      const std::vector<std::byte> meanwhile = pipeline.state();
      PACELINE_TRY(pipeline.wait().status());
      PACELINE_TRY(pipeline.set_frozen(0, false));
      PACELINE_TRY(pipeline.load_state(meanwhile));
      std::ranges::fill(pipeline.gradient<float>(0), 0.0F);
      PACELINE_TRY(pipeline.ready(0));
      PACELINE_TRY(pipeline.wait().status());
      return expect_elements(pipeline.gradient<float>(0), 0);
    });
  }
}

TEST_P(GradientCalls, OneThatIsDestroyedInAStepIsNamed) {
  const Status status = status_of(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto made, GradientPipeline::over(std::move(world), {{"a", 5}, {"b", 5}}));
    std::optional pipeline(std::move(made));
    if (rank == 1) {
      PACELINE_TRY(pipeline->ready(0));
      PACELINE_TRY(pipeline->wait(0));
      PACELINE_TRY(pipeline->wait().status());
      PACELINE_TRY(pipeline->ready(0));
      pipeline.reset();
      return {};
    }
    // Rank 1 may have gone before this one has seen the end of its step.
    PACELINE_TRY(pipeline->ready(0));
    Status ended = pipeline->wait(0);
    if (ended.ok()) ended = pipeline->wait().status();
    (void)pipeline->ready(1);
    if (ended.ok()) ended = pipeline->wait().status();
    if (ended.code() != Code::kCancelled || ended.culprit().rank != 1)
      return wrong(ended.to_string());
    return expect_text(ended, "destroyed its gradient pipeline during step 1");
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, GradientCalls,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kProcesses,
                                           Mode::kDirect, Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

class AbortedGradients : public Gradients {};

// The pipeline's failure, once there is one; none within a generous time.
Status failure_of(GradientPipeline& pipeline) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, std::chrono::seconds(30));
  while (pipeline.failure().ok() && !deadline.passed(clock.now())) ::poll(nullptr, 0, 1);
  return pipeline.failure();
}

TEST_P(AbortedGradients, EndAWaitOnAllRanks) {
  const Status status = status_of(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a", 5}}));
    std::atomic<bool> is_ready = false;
    std::thread other;
    if (rank == 0) {
      other = std::thread([&] {
        while (!is_ready) ::poll(nullptr, 0, 1);
        ::poll(nullptr, 0, 20);  // wait() has begun, or not: both must end
        pipeline.abort();
      });
      (void)pipeline.ready(0);
      is_ready = true;
    }
    const Status ended = rank == 0 ? pipeline.wait().status() : failure_of(pipeline);
    if (other.joinable()) other.join();
    if (ended.code() != Code::kCancelled) return wrong(ended.to_string());
    return pipeline.failure().code() == Code::kCancelled ? Status() : wrong("failure()");
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

TEST_P(AbortedGradients, ATimeoutEndsAWait) {
  const Status status = status_of(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline, GradientPipeline::over(std::move(world), {{"a", 5}}));
    PACELINE_TRY(pipeline.set_timeout(std::chrono::milliseconds(200)));
    if (rank == 0) {
      PACELINE_TRY(pipeline.ready(0));
      const Status ended = pipeline.wait().status();
      if (ended.code() != Code::kTimeout || ended.culprit().rank != 1)
        return wrong(ended.to_string());
      return {};
    }
    return failure_of(pipeline).ok() ? wrong("failure()") : Status();
  });
  EXPECT_TRUE(status.ok()) << status.to_string();
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, AbortedGradients,
                         ::testing::Values(Mode::kThreads, Mode::kProcesses, Mode::kDirect,
                                           Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
