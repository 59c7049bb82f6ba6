// Gradients that travel in codecs: the same body simulated, in threads and as processes.
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

namespace paceline::testing {
namespace {

class CodedGradients : public Gradients {};

// A slowly turning vector, other on each rank: how far the sum of what came is from that of what
// was to come, beside the sum of their lengths.
Status follow(GradientPipeline& pipeline, int rank, int size, double bound) {
  const std::size_t count = pipeline.parameters()[0].count;
  std::vector<double> came(count), wanted(count);
  const auto value = [&](int who, int step, std::size_t i) {
    return std::sin(0.37 * static_cast<double>(i) + 0.05 * step) * (1 + 0.1 * who) +
           (i % 97 == 0 ? 5.0 : 0.0);
  };
  constexpr int kSteps = 40;
  double length = 0;
  for (int step = 0; step < kSteps; ++step) {
    const std::span<float> gradient = pipeline.gradient<float>(0);
    for (std::size_t i = 0; i < count; ++i) gradient[i] = static_cast<float>(value(rank, step, i));
    PACELINE_TRY(pipeline.ready(0));
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    if (result.overflow) return wrong("overflow");
    double squares = 0;
    for (std::size_t i = 0; i < count; ++i) {
      double average = 0;
      for (int who = 0; who < size; ++who) average += value(who, step, i) / size;
      wanted[i] += average;
      came[i] += static_cast<double>(gradient[i]);
      squares += average * average;
    }
    length += std::sqrt(squares);
  }
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) squares += std::pow(came[i] - wanted[i], 2);
  const double error = std::sqrt(squares) / length;
  if (error > bound) return wrong("an error of " + std::to_string(error));
  return {};
}

TEST_P(CodedGradients, FollowWhatIsWantedInEveryCodec) {
  struct Bound {
    Codec codec;
    double error;
  };
  for (const auto& [codec, bound] :
       {Bound{Codec::kNone, 1e-6}, Bound{Codec::kBf16, 3e-3}, Bound{Codec::kFp16, 3e-4},
        Bound{Codec::kInt8, 1e-3}, Bound{Codec::kTopK, 0.6}, Bound{Codec::kPowerSgd, 0.5}}) {
    const Status status = status_of(3, [&](Communicator& world, int rank, int size) -> Status {
      PACELINE_TRY_ASSIGN(
          auto pipeline,
          GradientPipeline::over(std::move(world), {{"a", 5003}},
                                 {.codec = codec, .forces_codec = true, .top_k_share = 0.1}));
      return follow(pipeline, rank, size, bound);
    });
    EXPECT_TRUE(status.ok()) << static_cast<int>(codec) << ": " << status.to_string();
  }
}

// What would have come next comes of a pipeline that has loaded the state of another.
TEST_P(CodedGradients, GoOnFromASavedState) {
  std::array<std::vector<std::byte>, 2> states;  // by rank; of threads and the simulation
  const auto train = [&](Communicator& world, int rank, bool loads) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 1000}},
                                               {.codec = Codec::kInt8, .forces_codec = true}));
    std::vector<std::byte>& state = states[static_cast<std::size_t>(rank)];
    if (loads) PACELINE_TRY(pipeline.load_state(state));
    if (loads && pipeline.state() != state) return wrong("the state");
    for (std::size_t i = 0; i < 1000; ++i)
      pipeline.gradient<float>(0)[i] = std::sin(static_cast<float>(i));
    PACELINE_TRY(pipeline.ready(0));
    PACELINE_TRY(pipeline.wait().status());
    state = pipeline.state();
    const auto is_zero = [](std::byte one) { return one == std::byte{0}; };
    if (std::ranges::all_of(std::span(state).subspan(40), is_zero)) return wrong("no residual");
    std::vector<std::byte> other = state;
    other[8] ^= std::byte{1};
    const std::string told = pipeline.load_state(other).text();
    if (told !=
        "cannot load the state of a gradient pipeline: it was saved with other parameters or "
        "options")
      return wrong(told);
    other = state;
    other.pop_back();
    if (pipeline.load_state(other).ok() || pipeline.load_state({}).ok()) return wrong("short");
    return {};
  };
  for (const bool loads : {false, true}) {
    if (loads && states[0].empty()) return;  // processes have written to memory of their own
    run(2, [&](Communicator& world, int rank, int) { return train(world, rank, loads); });
  }
}

TEST_P(CodedGradients, ThatACodecHasNoCodeForAreNamed) {
  run(3, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 700}, {"b", 9000}},
                                               {.codec = Codec::kFp16, .forces_codec = true}));
    for (int step = 0; step < 2; ++step) {
      std::ranges::fill(pipeline.gradient<float>(1), 1.0f);
      if (step == 0 && rank == 2) pipeline.gradient<float>(1)[8000] = 1e6f;  // the own shard's
      if (step == 0 && rank == 1) pipeline.gradient<float>(1)[8001] = -1e6f;
      PACELINE_TRY(pipeline.ready(1));
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      const auto wanted =
          step == 0 ? std::optional(Overflow{.rank = 1, .parameter = 1}) : std::nullopt;
      if (result.overflow != wanted) return wrong("step " + std::to_string(step));
      if (step == 1 && pipeline.gradient<float>(1)[8000] != 1) return wrong("the average");
    }
    return {};
  });
}

// A block of int8 has one scale, which an infinity takes with it; and it begins in "a".
TEST_P(CodedGradients, ThatShareABlockAreNotBlamedForEachOther) {
  run(3, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 100}, {"b", 9000}},
                                               {.codec = Codec::kInt8, .forces_codec = true}));
    std::ranges::fill(pipeline.gradient<float>(0), 1.0f);
    std::ranges::fill(pipeline.gradient<float>(1), 1.0f);
    if (rank == 1) pipeline.gradient<float>(1)[5] = std::numeric_limits<float>::infinity();
    for (const std::size_t i : {0u, 1u}) PACELINE_TRY(pipeline.ready(i));
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    return result.overflow == Overflow{.rank = 1, .parameter = 1} ? Status() : wrong("who");
  });
}

TEST_P(CodedGradients, TheFirstThatACodecHasNoCodeForIsNamed) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), {{"a", 100}, {"b", 9000}},
                                               {.codec = Codec::kFp16, .forces_codec = true}));
    for (const std::size_t i : {0u, 1u}) {
      std::ranges::fill(pipeline.gradient<float>(i), 1.0f);
      if (rank == 1)
        pipeline.gradient<float>(i)[5] = i == 0 ? 1e6f : std::numeric_limits<float>::infinity();
      PACELINE_TRY(pipeline.ready(i));
    }
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    return result.overflow == Overflow{.rank = 1, .parameter = 0} ? Status() : wrong("which");
  });
}

// Elements that nobody owns, up to the next multiple of 64 bytes behind each gradient.
bool is_padding_zero(const GradientPipeline& pipeline) {
  for (std::size_t i = 0; i < pipeline.parameters().size(); ++i) {
    const std::span<float> own = pipeline.gradient<float>(i);
    const std::size_t behind = (own.size() + 15) / 16 * 16 - own.size();
    if (std::ranges::any_of(std::span(own.data() + own.size(), behind),
                            [](float one) { return one != 0; }))
      return false;
  }
  return true;
}

// Neither a codec's errors nor what was not finite remain between gradients, to be summed up again
// in each step.
TEST_P(CodedGradients, HaveZerosBetweenThem) {
  for (const Codec codec : {Codec::kBf16, Codec::kInt8, Codec::kTopK, Codec::kPowerSgd}) {
    const Status status = status_of(2, [&](Communicator& world, int rank, int) -> Status {
      PACELINE_TRY_ASSIGN(
          auto pipeline,
          GradientPipeline::over(std::move(world), {{"a", 3}, {"b", 17}, {"c", 1001}, {"d", 33}},
                                 {.is_average = false, .codec = codec, .forces_codec = true}));
      for (int step = 0; step < 60; ++step) {
        for (std::size_t i = 4; i-- > 0;) {
          std::size_t k = 0;
          for (float& one : pipeline.gradient<float>(i))
            one = std::sin(static_cast<float>(++k * (i + 1)) + static_cast<float>(step));
          if (step == 20 && rank == 1) pipeline.gradient<float>(i)[0] = INFINITY;
          PACELINE_TRY(pipeline.ready(i));
        }
        PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
        if (result.overflow.has_value() != (step == 20))
          return wrong("overflow, step " + std::to_string(step));
        if (!is_padding_zero(pipeline)) return wrong("padding, step " + std::to_string(step));
      }
      return {};
    });
    EXPECT_TRUE(status.ok()) << name(codec) << ": " << status.to_string();
  }
}

// Also those that are apart from all others, and too small to pay for a codec.
TEST_P(CodedGradients, AreAllCodedWhereACodecIsForced) {
  run(2, [](Communicator& world, int, int) -> Status {
    PACELINE_TRY_ASSIGN(
        auto pipeline,
        GradientPipeline::over(std::move(world), {{"a", 100}, {"b", 100}, {"c", 100}, {"d", 100}},
                               {.codec = Codec::kBf16, .forces_codec = true}));
    PACELINE_TRY(pipeline.set_frozen(1, true));
    for (int step = 0; step < 10; ++step) {
      for (const std::size_t i : {3u, 0u, 2u}) PACELINE_TRY(pipeline.ready(i));
      PACELINE_TRY(pipeline.wait().status());
      const std::string told = pipeline.describe();
      const auto lines = std::ranges::count(told, '\n');
      std::ptrdiff_t coded = 0;
      for (std::size_t at = 0; (at = told.find(" as bf16: ", at)) != std::string::npos; ++at)
        ++coded;
      if (lines < 2 || coded != lines) return wrong(told);
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, CodedGradients,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kProcesses,
                                           Mode::kDirect, Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
