// Under run_stable a pipeline gives the same bits in every run; under placement_stable also with
// every transport. This holds for every codec, and does not depend on when gradients become ready
// or how long operations take.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>

#include "comm/base/random.h"
#include "comm/base/try.h"
#include "tests/harness/ranks.h"

namespace paceline::testing::reproducible_gradients {
namespace {

constexpr int kRanks = 3;
constexpr int kSteps = 9;  // enough for measured pipelines to decide buckets
constexpr int kSavedBefore = 5;
constexpr Codec kCodecs[] = {Codec::kNone, Codec::kBf16,     Codec::kFp16, Codec::kInt8,
                             Codec::kTopK, Codec::kPowerSgd, Codec::kAuto};

// Large enough to give several buckets if they are chosen by measurement.
const std::vector<Parameter>& model() {
  static const std::vector<Parameter> all = {
      {.name = "bias", .count = 7},
      {.name = "table", .count = 100'000, .columns = 400},
      {.name = "half", .count = 999, .type = DataType::kBFloat16},
      {.name = "other", .count = 50'021},
      {.name = "last", .count = 33}};
  return all;
}

// Values have different magnitudes, so that sums depend on their order.
float value_of(std::size_t parameter, std::size_t element, int rank, int step) {
  const auto seed = (element * 31 + parameter) * 64 + static_cast<std::size_t>(step * 4 + rank);
  const std::uint64_t bits = (seed + 1) * 0x9E3779B97F4A7C15;
  const auto unit = static_cast<float>(bits >> 40) * 0x1p-24F - .5F;
  constexpr float kScales[] = {0x1p-6F, 0x1p-3F, 1, 0x1p3F, 0x1p6F};
  return unit * kScales[bits % std::size(kScales)];
}

void fill(GradientPipeline& pipeline, std::size_t i, int rank, int step) {
  if (model()[i].type == DataType::kFloat32) {
    std::size_t k = 0;
    for (float& one : pipeline.gradient<float>(i)) one = value_of(i, k++, rank, step);
  } else {
    std::size_t k = 0;
    for (BFloat16& one : pipeline.gradient<BFloat16>(i))
      one = BFloat16(value_of(i, k++, rank, step));
  }
}

using Bytes = std::vector<std::byte>;

void append(Bytes& to, std::span<const std::byte> bytes) {
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// Gradients become ready in a random order of this run.
Result<Bytes> train(GradientPipeline& pipeline, int rank, int from, int to, std::uint64_t run) {
  Random random(run * 16 + static_cast<std::uint64_t>(rank));
  Bytes outcome;
  for (int step = from; step < to; ++step) {
    const std::size_t first = random.below(model().size());
    for (std::size_t i = 0; i < model().size(); ++i) {
      const std::size_t parameter = (first + i) % model().size();
      fill(pipeline, parameter, rank, step);
      PACELINE_TRY(pipeline.ready(parameter));
    }
    PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
    if (result.overflow) return wrong("overflow");
    for (std::size_t i = 0; i < model().size(); ++i) append(outcome, pipeline.gradient(i));
    append(outcome, std::as_bytes(std::span(&result.norm, 1)));
  }
  return outcome;
}

struct Job {
  Determinism determinism = Determinism::kRunStable;
  GradientOptions options;
};
GradientOptions options_of(Codec codec) {
  return {.computes_norm = true,
          .codec = codec,
          .error_budget = 0.5,
          .top_k_share = 0.05,
          .power_sgd_rank = 2};
}

struct Outcome {
  std::array<Bytes, kRanks> steps, states;  // by rank; states before step kSavedBefore
};

class ReproducibleGradients : public ::testing::Test {
 protected:
  using Body = std::function<Status(GradientPipeline&, std::size_t rank)>;

  static void run(Mode mode, std::uint64_t seed, const Job& job, const Body& body) {
    const Status status = run_ranks(
        {.mode = mode, .ranks = kRanks, .seed = seed, .determinism = job.determinism},
        [&](Communicator& world) -> Status {
          const auto rank = static_cast<std::size_t>(world.rank());
          PACELINE_TRY_ASSIGN(auto pipeline,
                              GradientPipeline::over(std::move(world), model(), job.options));
          return body(pipeline, rank);
        });
    ASSERT_TRUE(status.ok()) << name(mode) << ", " << name(job.options.codec) << ": "
                             << status.to_string();
  }
  static Outcome outcome_of(Mode mode, std::uint64_t seed, const Job& job) {
    Outcome outcome;
    run(mode, seed, job, [&](GradientPipeline& pipeline, std::size_t rank) -> Status {
      const auto who = static_cast<int>(rank);
      PACELINE_TRY_ASSIGN(outcome.steps[rank], train(pipeline, who, 0, kSavedBefore, seed));
      outcome.states[rank] = pipeline.state();
      PACELINE_TRY_ASSIGN(const Bytes rest, train(pipeline, who, kSavedBefore, kSteps, seed + 99));
      append(outcome.steps[rank], rest);
      return {};
    });
    return outcome;
  }
  static void expect_same(const Outcome& found, const Outcome& expected, const std::string& what) {
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      ASSERT_FALSE(expected.steps[rank].empty()) << what;
      EXPECT_TRUE(found.steps[rank] == expected.steps[rank]) << what << ", rank " << rank;
      EXPECT_TRUE(found.states[rank] == expected.states[rank])
          << what << ", the state of rank " << rank;
    }
  }
  static std::string words(const Job& job, Mode mode) {
    return std::string(name(job.options.codec)) + ", " + name(mode);
  }
};

constexpr Mode kModes[] = {Mode::kSimulation, Mode::kThreads, Mode::kDirectThreads};

TEST_F(ReproducibleGradients, AreTheSameInEveryRun) {
  for (const Codec codec : kCodecs) {
    const Job job{.options = options_of(codec)};
    for (const Mode mode : kModes) {
      const Outcome first = outcome_of(mode, 1, job);
      for (const std::uint64_t seed : {2U, 3U})
        expect_same(outcome_of(mode, seed, job), first, words(job, mode));
    }
  }
}

TEST_F(ReproducibleGradients, AreTheSameByEveryTransport) {
  for (const Codec codec : kCodecs) {
    const Job job{.determinism = Determinism::kPlacementStable, .options = options_of(codec)};
    const Outcome first = outcome_of(Mode::kSimulation, 1, job);
    for (const Mode mode : kModes) expect_same(outcome_of(mode, 2, job), first, words(job, mode));
  }
}

TEST_F(ReproducibleGradients, GoOnFromASavedStateWithTheSameBits) {
  for (const Determinism determinism : {Determinism::kRunStable, Determinism::kPlacementStable}) {
    for (const Codec codec : kCodecs) {
      const Job job{.determinism = determinism, .options = options_of(codec)};
      const Outcome whole = outcome_of(Mode::kThreads, 1, job);
      run(Mode::kThreads, 7, job, [&](GradientPipeline& pipeline, std::size_t rank) -> Status {
        PACELINE_TRY(pipeline.load_state(whole.states[rank]));
        PACELINE_TRY_ASSIGN(const Bytes rest,
                            train(pipeline, static_cast<int>(rank), kSavedBefore, kSteps, 7));
        const auto expected = std::span(whole.steps[rank]).last(rest.size());
        return std::ranges::equal(rest, expected) ? Status() : wrong("other bits come next");
      });
    }
  }
}

// A named codec is used. kAuto, which would choose by measured times, uses none.
TEST_F(ReproducibleGradients, UseACodecThatIsNamed) {
  for (const Codec codec : kCodecs) {
    run(Mode::kThreads, 1, {.options = options_of(codec)},
        [&](GradientPipeline& pipeline, std::size_t rank) -> Status {
          const std::uint64_t plans = pipeline.stats().plans;
          const std::string before = pipeline.describe();
          PACELINE_TRY(train(pipeline, static_cast<int>(rank), 0, kSteps, 1).status());
          if (pipeline.stats().plans != plans || pipeline.describe() != before)
            return wrong("buckets have been decided anew: " + pipeline.describe());
          const bool is_used = before.find(" as ") != std::string::npos;
          const bool is_named = codec != Codec::kNone && codec != Codec::kAuto;
          return is_used == is_named ? Status() : wrong(before);
        });
  }
}

}  // namespace
}  // namespace paceline::testing::reproducible_gradients
