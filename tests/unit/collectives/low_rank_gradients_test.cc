// Gradients that travel as matrices of a low rank: the same body simulated, in threads and as
// processes.
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

class LowRankGradients : public Gradients {};

GradientOptions low_rank(std::size_t bucket_bytes = 0, int rank = 4) {
  return {.bucket_bytes = bucket_bytes,
          .codec = Codec::kPowerSgd,
          .forces_codec = true,
          .power_sgd_rank = rank};
}

// Of rank 1, and the sum over the ranks, too: rank r has 1 + r times as much of it.
std::vector<float> model_of(const GradientPipeline& pipeline, std::size_t parameter) {
  const auto& [name, count, type, columns, uses] = pipeline.parameters()[parameter];
  std::vector<double> row(columns);
  for (std::size_t i = 0; i < columns; ++i) row[i] = std::cos(0.3 * static_cast<double>(i));
  std::vector<float> all;
  for (std::size_t i = 0; i < count / columns; ++i) {
    const double size = std::sin(0.7 * static_cast<double>(i) + static_cast<double>(parameter) + 1);
    for (const double one : row) all.push_back(static_cast<float>(size * one));
  }
  return all;
}

void fill(GradientPipeline& pipeline, std::size_t parameter, int rank) {
  std::ranges::transform(model_of(pipeline, parameter), pipeline.gradient<float>(parameter).begin(),
                         [&](float one) { return static_cast<float>(1 + rank) * one; });
}

// Of the average, relative.
double error_of(GradientPipeline& pipeline, std::size_t parameter, int size) {
  const std::vector<float> model = model_of(pipeline, parameter);
  const std::span<float> gradient = pipeline.gradient<float>(parameter);
  double lost = 0, all = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double wanted = double{model[i]} * (size + 1) / 2;
    lost += std::pow(double{gradient[i]} - wanted, 2);
    all += wanted * wanted;
  }
  return std::sqrt(lost / all);
}

// In the order of backward.
Result<StepResult> step(GradientPipeline& pipeline, int rank) {
  for (std::size_t i = pipeline.parameters().size(); i-- > 0;) {
    fill(pipeline, i, rank);
    PACELINE_TRY(pipeline.ready(i));
  }
  return pipeline.wait();
}

Status expect_exact(GradientPipeline& pipeline, int size) {
  for (std::size_t i = 0; i < pipeline.parameters().size(); ++i) {
    const double error = error_of(pipeline, i, size);
    if (!(error < 1e-4))
      return wrong(pipeline.parameters()[i].name + " has an error of " + std::to_string(error) +
                   "\n" + pipeline.describe());
  }
  return {};
}

const std::vector<Parameter>& model() {
  static const std::vector<Parameter> all = {{.name = "bias", .count = 192, .columns = 192},
                                             {.name = "small", .count = 60, .columns = 6},
                                             {.name = "first", .count = 9408, .columns = 147},
                                             {.name = "table", .count = 384'000, .columns = 2000},
                                             {.name = "last", .count = 1870, .columns = 187},
                                             {.name = "vector", .count = 33, .columns = 33}};
  return all;
}

TEST_P(LowRankGradients, OfRankOneAreExactAlone) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(
        auto pipeline, GradientPipeline::over(
                           std::move(world), {{.name = "table", .count = 384'000, .columns = 2000}},
                           low_rank(0, 1)));
    for (int i = 0; i < 3; ++i) PACELINE_TRY(step(pipeline, rank).status());
    if (pipeline.describe().find("as powersgd") == std::string::npos) return wrong("no codec");
    return expect_exact(pipeline, size);
  });
}

// Vectors, and what is too small, beside matrices of several shapes.
TEST_P(LowRankGradients, OfRankOneAreExactTogether) {
  run(3, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), model(), low_rank()));
    for (int i = 0; i < 9; ++i) {
      PACELINE_TRY_ASSIGN(const StepResult result, step(pipeline, rank));
      if (result.overflow) return wrong("overflow");
      PACELINE_TRY(expect_exact(pipeline, size));
    }
    return {};
  });
}

// Of rows of 8,000 bytes buckets of 9,000 begin and end inside: they have one more of either.
TEST_P(LowRankGradients, AreExactInParts) {
  struct Cut {
    std::size_t bucket_bytes;
    int rank;
  };
  for (const auto& [bucket_bytes, most_rank] : {Cut{100'000, 1}, Cut{40'000, 1}, Cut{9'000, 4}}) {
    const GradientOptions options = low_rank(bucket_bytes, most_rank);
    const Status status = status_of(2, [&](Communicator& world, int rank, int size) -> Status {
      PACELINE_TRY_ASSIGN(auto pipeline,
                          GradientPipeline::over(std::move(world), model(), options));
      for (int i = 0; i < 5; ++i) PACELINE_TRY(step(pipeline, rank).status());
      return expect_exact(pipeline, size);
    });
    EXPECT_TRUE(status.ok()) << bucket_bytes << ": " << status.to_string();
  }
}

TEST_P(LowRankGradients, InTheMiddleOfAStepTheStateIsThatOfTheStepsBefore) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), model(), low_rank(0, 1)));
    const std::vector<std::byte> before = pipeline.state();
    const std::size_t count = pipeline.parameters().size();
    for (std::size_t i = 0; i < count; ++i) {
      fill(pipeline, i, rank);
      PACELINE_TRY(pipeline.ready(i));
    }
    for (std::size_t i = 0; i < count; ++i) PACELINE_TRY(pipeline.wait(i));
    if (pipeline.state() != before) return wrong("the state changes before the step has ended");
    PACELINE_TRY(pipeline.wait().status());
    return pipeline.state() != before ? Status() : wrong("the step has left nothing");
  });
}

// A saved state in which the errors of these gradients are zeros. All are float32.
std::vector<std::byte> without_errors_of(const GradientPipeline& pipeline,
                                         std::vector<std::byte> state, std::size_t first,
                                         std::size_t last) {
  constexpr std::size_t kHead = 40, kAlignment = 64;
  std::size_t at = kHead;
  for (std::size_t i = 0; i <= last; ++i) {
    const std::size_t bytes = pipeline.parameters()[i].count * sizeof(float);
    if (i >= first) std::fill_n(&state[at], bytes, std::byte{0});
    at += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  return state;
}

// Starting points and errors belong to gradients and not to buckets. Only the errors of gradients
// that were frozen are discarded.
TEST_P(LowRankGradients, GoOnWhereTheyWereWhenBucketsChange) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), model(), low_rank(0, 1)));
    const std::vector<std::byte> first = pipeline.state();
    PACELINE_TRY(step(pipeline, rank).status());
    const std::vector<std::byte> before = pipeline.state();
    if (before == first) return wrong("it has found nothing");
    const std::uint64_t plans = pipeline.stats().plans;
    // What is frozen is in no bucket: those behind it are new ones.
    for (const std::size_t frozen : {5U, 4U, 3U}) PACELINE_TRY(pipeline.set_frozen(frozen, true));
    for (const std::size_t frozen : {3U, 5U, 4U}) PACELINE_TRY(pipeline.set_frozen(frozen, false));
    if (pipeline.stats().plans != plans + 6) return wrong("plans");
    return pipeline.state() == without_errors_of(pipeline, before, 3, 5)
               ? Status()
               : wrong("something has been lost");
  });
}

// What would have come next comes of a pipeline that has loaded the state of another.
TEST_P(LowRankGradients, GoOnFromASavedState) {
  std::array<std::vector<std::byte>, 2> states;  // by rank; of threads and the simulation
  std::array<std::vector<float>, 2> next;
  const auto hand_in = [](GradientPipeline& pipeline, int rank, int time) -> Status {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::span<float> gradient = pipeline.gradient<float>(i);
      for (std::size_t j = 0; j < gradient.size(); ++j)
        gradient[j] = std::sin(static_cast<float>((j * j) % 1009 + i) + static_cast<float>(rank) +
                               0.1F * static_cast<float>(time));
      PACELINE_TRY(pipeline.ready(i));
    }
    return pipeline.wait().status();
  };
  const auto train = [&](Communicator& world, int rank, bool loads) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world),
                                               {{.name = "a", .count = 9600, .columns = 96},
                                                {.name = "b", .count = 4000}},
                                               low_rank(0, 2)));
    auto& state = states[static_cast<std::size_t>(rank)];
    auto& wanted = next[static_cast<std::size_t>(rank)];
    if (loads) {
      PACELINE_TRY(pipeline.load_state(state));
      if (pipeline.state() != state) return wrong("the state");
    } else {
      PACELINE_TRY(hand_in(pipeline, rank, 0));
      state = pipeline.state();
    }
    PACELINE_TRY(hand_in(pipeline, rank, 1));
    const std::span<float> came = pipeline.gradient<float>(0);
    if (!loads) wanted.assign(came.begin(), came.end());
    return std::ranges::equal(came, wanted) ? Status() : wrong("another step comes next");
  };
  for (const bool loads : {false, true}) {
    if (loads && states[0].empty()) return;  // processes have written to memory of their own
    run(2, [&](Communicator& world, int rank, int) { return train(world, rank, loads); });
  }
}

TEST_P(LowRankGradients, OfOtherShapesDoNotTakeAState) {
  std::array<std::vector<std::byte>, 2> states;  // by rank
  const auto make = [&](Communicator& world, int rank, std::size_t columns) -> Status {
    PACELINE_TRY_ASSIGN(
        auto pipeline,
        GradientPipeline::over(std::move(world), {{.name = "a", .count = 9600, .columns = columns}},
                               low_rank()));
    std::vector<std::byte>& state = states[static_cast<std::size_t>(rank)];
    if (state.empty()) {
      state = pipeline.state();
      return {};
    }
    const std::string told = pipeline.load_state(state).text();
    if (told ==
        "cannot load the state of a gradient pipeline: it was saved with other parameters or "
        "options")
      return {};
    return wrong(told);
  };
  for (const std::size_t columns : {96U, 48U})
    run(2, [&](Communicator& world, int rank, int) { return make(world, rank, columns); });
}

TEST_P(LowRankGradients, OfOtherColumnsAreRefusedOnEveryRank) {
  run(3, [](Communicator& world, int rank, int) -> Status {
    const auto columns = static_cast<std::size_t>(rank == 1 ? 50 : 100);
    const auto made = GradientPipeline::over(std::move(world),
                                             {{.name = "a", .count = 1000, .columns = columns}});
    if (made.status().code() != Code::kMismatch || made.status().culprit().rank != 1)
      return wrong(made.status().to_string());
    return {};
  });
}

// Of one that is not finite the others are as they should be.
TEST_P(LowRankGradients, ThatAreNotFiniteAreNamed) {
  run(2, [](Communicator& world, int rank, int size) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), model(), low_rank()));
    for (std::size_t time = 0; time < 4; ++time) {
      const std::size_t bad = time == 1 ? 3 : 0;  // a matrix, and what travels plain
      for (std::size_t i = model().size(); i-- > 0;) {
        fill(pipeline, i, rank);
        if (time % 2 == 1 && rank == 1 && i == bad)
          pipeline.gradient<float>(i)[17] = std::numeric_limits<float>::infinity();
        PACELINE_TRY(pipeline.ready(i));
      }
      PACELINE_TRY_ASSIGN(const StepResult result, pipeline.wait());
      const auto wanted =
          time % 2 == 1 ? std::optional(Overflow{.rank = 1, .parameter = bad}) : std::nullopt;
      if (result.overflow != wanted) return wrong("step " + std::to_string(time));
      if (time % 2 == 0) PACELINE_TRY(expect_exact(pipeline, size));
    }
    return {};
  });
}

// A sum that is looked at beyond the gradients would see it.
TEST_P(LowRankGradients, HaveZerosBetweenThem) {
  run(2, [](Communicator& world, int rank, int) -> Status {
    PACELINE_TRY_ASSIGN(auto pipeline,
                        GradientPipeline::over(std::move(world), model(), low_rank()));
    for (int time = 0; time < 5; ++time) {
      PACELINE_TRY(step(pipeline, rank).status());
      for (std::size_t i = 0; i + 1 < model().size(); ++i) {
        const std::byte* const end = pipeline.gradient(i).data() + pipeline.gradient(i).size();
        const std::byte* const next = pipeline.gradient(i + 1).data();
        if (!std::all_of(end, next, [](std::byte one) { return one == std::byte{0}; }))
          return wrong("behind " + model()[i].name);
      }
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(InEveryMode, LowRankGradients,
                         ::testing::Values(Mode::kSimulation, Mode::kThreads, Mode::kProcesses,
                                           Mode::kDirect, Mode::kDirectThreads),
                         [](const auto& mode) { return name(mode.param); });

}  // namespace
}  // namespace paceline::testing
