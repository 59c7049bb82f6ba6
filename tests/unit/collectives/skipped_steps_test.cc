// If a gradient of one rank or a sum overflows, all ranks skip the step. Later results must equal,
// bit for bit, those of a pipeline without that step, in every codec.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/try.h"
#include "tests/unit/collectives/gradient_modes.h"

namespace paceline::testing::skipped_steps {
namespace {

constexpr int kRanks = 3;
constexpr int kSteps = 9;  // steps that are not skipped
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A step before step `before`, in which one rank, or each rank, has this value.
struct Skip {
  int before = 0;
  int rank = 0;  // kEach: all
  std::size_t parameter = 0, element = 0;
  float value = kInfinity;
};
constexpr int kEach = -1;

// Steps to skip: on each rank; in first and last elements; in large and small gradients; as the
// first step; twice in a row; before a step that measures; and with finite values whose sum is not
// finite.
const std::vector<Skip>& skips() {
  static const std::vector<Skip> all = {
      {.before = 0, .rank = 1, .parameter = 1, .element = 0},
      {.before = 1, .rank = 0, .parameter = 1, .element = 20'000, .value = -kInfinity},
      {.before = 1, .rank = 2, .parameter = 1, .element = 39'999, .value = kNan},
      {.before = 2, .rank = 1, .parameter = 0, .element = 6},
      {.before = 3, .rank = 2, .parameter = 2, .element = 1000},
      {.before = 4, .rank = kEach, .parameter = 1, .element = 31, .value = 3e38F},
      {.before = 6, .rank = 0, .parameter = 3, .element = 32},
      {.before = kSteps - 1, .rank = 1, .parameter = 1, .element = 13'337}};
  return all;
}

struct Training {
  GradientOptions options;
  bool accumulates = false;   // two micro-steps per step; the first one has the bad value
  int joins_before = kSteps;  // the last rank has no more data from this step on
};

const std::vector<Parameter>& model() {
  static const std::vector<Parameter> all = {{.name = "bias", .count = 7},
                                             {.name = "table", .count = 40'000, .columns = 200},
                                             {.name = "other", .count = 1003},
                                             {.name = "last", .count = 33}};
  return all;
}

// A rank with a bad value also has large numbers in its other elements.
void fill(GradientPipeline& pipeline, int rank, int step, const Skip* skip, bool adds) {
  const bool is_bad = skip != nullptr && (skip->rank == rank || skip->rank == kEach);
  for (std::size_t i = 0; i < model().size(); ++i) {
    const std::span<float> gradient = pipeline.gradient<float>(i);
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      float value = .01F * std::sin(static_cast<float>((k * k) % 1009) + static_cast<float>(i) +
                                    static_cast<float>(rank) + .1F * static_cast<float>(step));
      if (is_bad && skip->rank == rank) value = k % 2 == 0 ? 30'000.F : 18'000.F;
      gradient[k] = adds ? gradient[k] + value : value;
    }
    if (is_bad && skip->parameter == i) gradient[skip->element] = skip->value;
  }
}

Result<StepResult> take_step(GradientPipeline& pipeline, const Training& training, int rank,
                             int step, const Skip* skip) {
  const int micro_steps = training.accumulates ? 2 : 1;
  for (int micro = 0; micro < micro_steps; ++micro) {
    const bool is_last = micro + 1 == micro_steps;
    PACELINE_TRY(pipeline.set_accumulating(!is_last));
    fill(pipeline, rank, step, micro == 0 ? skip : nullptr, micro > 0);
    for (std::size_t i = model().size(); i-- > 0;) PACELINE_TRY(pipeline.ready(i));
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    if (is_last) return result;
  }
  return StepResult{};
}

void append(std::vector<std::byte>& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Collects the gradients of the steps that count, and the state after each.
class Trainer {
 public:
  Trainer(GradientPipeline& pipeline, const Training& training, int rank)
      : pipeline_(pipeline), training_(training), rank_(rank) {}

  Status train(bool sees_skipped) {
    for (int step = 0; step < kSteps; ++step) {
      for (const Skip& skip : skips()) {
        const bool has_data = rank_ != kRanks - 1 || step < training_.joins_before;
        if (sees_skipped && skip.before == step && overflows(skip))
          PACELINE_TRY(take(step, &skip, has_data));
      }
      PACELINE_TRY(take(step, nullptr, rank_ != kRanks - 1 || step < training_.joins_before));
    }
    return training_.joins_before < kSteps ? end() : Status();
  }
  std::vector<std::byte> outcome() && { return std::move(outcome_); }

 private:
  // A rank that has joined has no bad value. The average of finite numbers may be finite although
  // their sum is not.
  bool overflows(const Skip& skip) const {
    if (skip.rank == kEach) return !training_.options.is_average;
    return skip.rank != kRanks - 1 || skip.before < training_.joins_before;
  }
  Status take(int step, const Skip* skip, bool has_data) {
    StepResult result;
    if (has_data) {
      PACELINE_TRY_ASSIGN(result, take_step(pipeline_, training_, rank_, step, skip));
    } else {
      PACELINE_TRY_ASSIGN(const auto joined, pipeline_.join());
      if (!joined) return wrong("all have ended");
      result = *joined;
    }
    const bool is_told = skip != nullptr && training_.options.finds_overflow;
    if (result.overflow.has_value() != is_told)
      return wrong("the overflow of step " + std::to_string(step));
    if (skip != nullptr) return {};
    for (std::size_t i = 0; i < model().size(); ++i) append(outcome_, pipeline_.gradient(i));
    append(outcome_, pipeline_.state());
    return {};
  }
  Status end() {
    PACELINE_TRY_ASSIGN(const auto joined, pipeline_.join());
    return joined ? wrong("some have not ended") : Status();
  }

  GradientPipeline& pipeline_;
  const Training& training_;
  const int rank_;
  std::vector<std::byte> outcome_;
};

class SkippedSteps : public Gradients {
 protected:
  using Outcomes = std::array<std::vector<std::byte>, kRanks>;  // by rank

  Outcomes outcomes_of(const Training& training, bool sees_skipped) {
    Outcomes outcomes;
    run(kRanks, [&](Communicator& world, int rank, int) -> Status {
      PACELINE_TRY_ASSIGN(auto pipeline,
                          GradientPipeline::over(std::move(world), model(), training.options));
      Trainer trainer(pipeline, training, rank);
      PACELINE_TRY(trainer.train(sees_skipped));
      outcomes[static_cast<std::size_t>(rank)] = std::move(trainer).outcome();
      return {};
    });
    return outcomes;
  }
  void expect_no_trace(const Training& training) {
    const Outcomes expected = outcomes_of(training, false), found = outcomes_of(training, true);
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_FALSE(expected[rank].empty());
      EXPECT_TRUE(found[rank] == expected[rank])
          << name(training.options.codec) << ", rank " << rank;
    }
  }
};

constexpr Codec kForced[] = {Codec::kNone, Codec::kBf16, Codec::kFp16,
                             Codec::kInt8, Codec::kTopK, Codec::kPowerSgd};

// Buckets have a fixed size, so that the bits do not depend on measurements.
GradientOptions options_of(Codec codec, bool is_average = true) {
  return {.is_average = is_average,
          .bucket_bytes = 50'000,
          .codec = codec,
          .forces_codec = codec != Codec::kNone,
          .top_k_share = 0.05};
}

TEST_P(SkippedSteps, LeaveNoTraceInAnyCodec) {
  for (const Codec codec : kForced) {
    for (const bool is_average : {true, false}) expect_no_trace({options_of(codec, is_average)});
  }
}

TEST_P(SkippedSteps, LeaveNoTraceWhereNobodyLooksForThem) {
  for (const Codec codec : kForced) {
    Training training{options_of(codec)};
    training.options.finds_overflow = false;
    expect_no_trace(training);
  }
}

TEST_P(SkippedSteps, LeaveNoTraceInMicroSteps) {
  for (const Codec codec : kForced)
    expect_no_trace({.options = options_of(codec), .accumulates = true});
}

TEST_P(SkippedSteps, LeaveNoTraceWhereARankHasJoined) {
  for (const Codec codec : kForced)
    expect_no_trace({.options = options_of(codec), .joins_before = 4});
}

// If measurements of gradients that are not finite counted, they would turn every codec off.
TEST_P(SkippedSteps, AreNotWhatCodecsAreChosenBy) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 40'000}},
                                               {.codec = Codec::kInt8, .forces_codec = true}));
    for (int step = 0; step < 8; ++step) {
      const bool is_bad = step % 2 == 1;  // buckets would be decided after steps 2, 4 and 8
      std::ranges::fill(pipeline.gradient<float>(0), .001F);
      if (is_bad && rank == 1) pipeline.gradient<float>(0)[7] = kInfinity;
      PACELINE_TRY(pipeline.ready(0));
      const std::uint64_t plans = pipeline.stats().plans;
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      if (result.overflow.has_value() != is_bad) return wrong("overflow");
      if (is_bad && pipeline.stats().plans != plans) return wrong("it has been decided by");
    }
    return pipeline.stats().plans == 3 ? Status() : wrong("what is decided after 2 and 4 steps");
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, SkippedSteps,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing::skipped_steps
