// Gradient pipelines of the C interface: the same bits as in C++, calls as trainers make them,
// wrong arguments, and ends in the middle of a step.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <iterator>
#include <latch>
#include <limits>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/gradient_pipeline.h>
#include <paceline/pipeline.h>

#include "collectives/c_interface/calls.h"
#include "tests/unit/collectives/ranks_in_c.h"

namespace paceline::testing {
namespace {

plConfig_t run_stable() {
  plConfig_t with = config();
  with.determinism = plDeterminismRunStable;
  return with;
}

plParameter_t floats(std::size_t count, const char* name = nullptr) {
  return {.name = name, .count = count, .datatype = plFloat32, .columns = 0, .uses = 0};
}

float* gradient_of(plPipeline_t pipeline, std::size_t index) {
  void* gradient = nullptr;
  EXPECT_EQ(plPipelineGradient(pipeline, index, &gradient), plSuccess) << plGetLastError(nullptr);
  return static_cast<float*>(gradient);
}

bool last_error_has(const std::string& part) {
  return std::string(plGetLastError(nullptr)).find(part) != std::string::npos;
}

// Runs `body` as two ranks with a pipeline for `list`.
using Body = std::function<void(plPipeline_t pipeline, int rank)>;
void run_pipelines(const std::vector<plParameter_t>& list, const Body& body,
                   const plPipelineConfig_t& with = pipeline_config()) {
  run_ranks_in_c(
      2,
      [&](plComm_t comm, int rank) {
        plPipeline_t pipeline = nullptr;
        ASSERT_EQ(plPipelineCreate(&pipeline, comm, list.data(), list.size(), &with), plSuccess)
            << plGetLastError(comm);
        EXPECT_EQ(plCommDestroy(comm), plSuccess) << "it may end before the pipeline";
        body(pipeline, rank);
        EXPECT_EQ(plPipelineDestroy(pipeline), plSuccess) << plGetLastError(nullptr);
      },
      run_stable());
}

// Values have different magnitudes, so that their sums depend on the codec and on the order.
float value_of(std::size_t element, int rank, int step) {
  const std::uint64_t bits =
      (element * 64 + static_cast<std::size_t>(step * 4 + rank) + 1) * 0x9E3779B97F4A7C15;
  return (static_cast<float>(bits >> 40) * 0x1p-24F - .5F) *
         std::ldexp(1.F, static_cast<int>(bits % 7));
}

void fill(std::span<float> gradient, int rank, int step) {
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] = value_of(i, rank, step);
}

constexpr std::size_t kCounts[] = {7, 30'000, 0, 12'345};

std::vector<plParameter_t> model() {
  std::vector<plParameter_t> list;
  for (const std::size_t count : kCounts) list.push_back(floats(count));
  list[1].columns = 150;
  return list;
}

Result<GradientPipeline> same_in_cpp(plComm_t comm, const plPipelineConfig_t& with) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < std::size(kCounts); ++i)
    parameters.push_back({"parameter " + std::to_string(i), kCounts[i]});
  parameters[1].columns = 150;
  return GradientPipeline::create(comm->communicator, parameters,
                                  {.is_average = with.isAverage != 0,
                                   .bucket_bytes = with.bucketBytes,
                                   .computes_norm = with.computesNorm != 0,
                                   .codec = static_cast<Codec>(with.codec),
                                   .forces_codec = with.forcesCodec != 0,
                                   .top_k_share = with.topKShare,
                                   .power_sgd_rank = static_cast<int>(with.powerSgdRank)});
}

// Both make the same steps.
void compare(plPipeline_t in_c, GradientPipeline& in_cpp, int rank) {
  for (int step = 0; step < 5; ++step) {
    for (std::size_t i = std::size(kCounts); i-- > 0;) {
      std::vector<float> gradient(kCounts[i]);
      fill(gradient, rank, step);
      ASSERT_EQ(plPipelineReadyFrom(in_c, i, gradient.data(), nullptr), plSuccess)
          << plGetLastError(nullptr);
      ASSERT_TRUE(in_cpp.ready(i, gradient.data()).ok());
    }
    plStepResult_t result = {};
    ASSERT_EQ(plPipelineWaitAll(in_c, &result, nullptr), plSuccess) << plGetLastError(nullptr);
    const auto wanted = in_cpp.wait();
    ASSERT_TRUE(wanted.ok()) << wanted.status().to_string();
    EXPECT_EQ(result.ranks, wanted->ranks);
    EXPECT_EQ(result.norm, wanted->norm);
    EXPECT_EQ(result.hasOverflow, 0);
    for (std::size_t i = 0; i < std::size(kCounts); ++i) {
      const std::span<float> other = in_cpp.gradient<float>(i);
      if (kCounts[i] == 0) continue;
      ASSERT_EQ(std::memcmp(gradient_of(in_c, i), other.data(), other.size_bytes()), 0)
          << "gradient " << i << " of step " << step;
    }
  }
}

TEST(CPipeline, EveryCodecGivesTheBitsOfCpp) {
  for (int codec = plCodecNone; codec <= plCodecAuto; ++codec) {
    plPipelineConfig_t with = pipeline_config();
    with.isAverage = codec % 2 == 0;
    with.bucketBytes = 40'000;
    with.computesNorm = 1;
    with.codec = codec;
    with.forcesCodec = codec != plCodecAuto;
    with.topKShare = 0.1;
    with.powerSgdRank = 2;
    run_ranks_in_c(
        2,
        [&](plComm_t comm, int rank) {
          const std::vector<plParameter_t> list = model();
          plPipeline_t in_c = nullptr;
          ASSERT_EQ(plPipelineCreate(&in_c, comm, list.data(), list.size(), &with), plSuccess)
              << plGetLastError(comm);
          auto in_cpp = same_in_cpp(comm, with);
          ASSERT_TRUE(in_cpp.ok()) << in_cpp.status().to_string();
          compare(in_c, *in_cpp, rank);
          // It has the digest of parameters and options.
          const std::vector<std::byte> state = in_cpp->state();
          EXPECT_EQ(plPipelineLoadState(in_c, state.data(), state.size()), plSuccess)
              << plGetLastError(nullptr);
          EXPECT_EQ(plPipelineDestroy(in_c), plSuccess);
          EXPECT_EQ(plCommDestroy(comm), plSuccess);
        },
        run_stable());
  }
}

TEST(CPipeline, ASavedStateGoesOnWithTheSameBits) {
  plPipelineConfig_t with = pipeline_config();
  with.codec = plCodecInt8;
  with.forcesCodec = 1;
  std::array<std::array<std::vector<std::byte>, 2>, 2> saved;  // of each run and rank
  std::array<std::array<std::vector<float>, 2>, 2> ends;
  for (std::size_t run = 0; run < 2; ++run)
    run_pipelines(
        {floats(9'001)},
        [&](plPipeline_t pipeline, int rank) {
          const auto of = static_cast<std::size_t>(rank);
          std::vector<std::byte>& state = saved[0][of];
          if (run == 1) {
            EXPECT_EQ(plPipelineLoadState(pipeline, state.data(), state.size()), plSuccess);
          }
          for (int step = run == 1 ? 3 : 0; step < 6; ++step) {
            if (run == 0 && step == 3) {
              std::size_t bytes = 0;
              EXPECT_EQ(plPipelineState(pipeline, nullptr, &bytes), plSuccess);
              EXPECT_GT(bytes, 9'001 * sizeof(float)) << "errors of int8";
              state.resize(bytes--);
              EXPECT_EQ(plPipelineState(pipeline, state.data(), &bytes), plInvalidArgument);
              EXPECT_EQ(bytes, state.size()) << "the length that is needed";
              EXPECT_EQ(plPipelineState(pipeline, state.data(), &bytes), plSuccess);
            }
            fill({gradient_of(pipeline, 0), 9'001}, rank, step);
            EXPECT_EQ(plPipelineReady(pipeline, 0, nullptr), plSuccess);
            EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plSuccess);
          }
          const float* const gradient = gradient_of(pipeline, 0);
          ends[run][of].assign(gradient, gradient + 9'001);
          EXPECT_EQ(plPipelineLoadState(pipeline, state.data(), 3), plInvalidArgument);
        },
        with);
  EXPECT_EQ(ends[0], ends[1]);
}

TEST(CPipeline, MicroStepsAreAddedAndFrozenGradientsStay) {
  run_pipelines({floats(3), floats(2), floats(5)}, [](plPipeline_t pipeline, int rank) {
    const std::vector<float> part(5, static_cast<float>(1 + rank));
    EXPECT_EQ(plPipelineSetFrozen(pipeline, 1, 1), plSuccess);
    EXPECT_EQ(plPipelineReady(pipeline, 1, nullptr), plInvalidArgument);
    for (int micro_step = 0; micro_step < 4; ++micro_step) {
      EXPECT_EQ(plPipelineSetAccumulating(pipeline, micro_step < 3), plSuccess);
      EXPECT_EQ(plPipelineReadyFrom(pipeline, 0, part.data(), nullptr), plSuccess);
      if (micro_step == 3) {
        EXPECT_EQ(plPipelineWait(pipeline, 0, nullptr), plSuccess);
      }
      plStepResult_t result = {};
      EXPECT_EQ(plPipelineWaitAll(pipeline, &result, nullptr), plSuccess);
      EXPECT_EQ(result.ranks, micro_step < 3 ? 0 : 2);
    }
    EXPECT_EQ(gradient_of(pipeline, 0)[2], 6);
    EXPECT_EQ(gradient_of(pipeline, 2)[4], 0) << "unused";
    EXPECT_EQ(plPipelineSetFrozen(pipeline, 1, 0), plSuccess);
    EXPECT_EQ(plPipelineReadyFrom(pipeline, 1, part.data(), nullptr), plSuccess);
    EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plSuccess);
    EXPECT_EQ(gradient_of(pipeline, 1)[1], 1.5F);
  });
}

TEST(CPipeline, SharedWeightsAreReadyAfterTheLastUse) {
  plParameter_t tied = floats(4, "tied");
  tied.uses = 2;
  run_pipelines({tied}, [](plPipeline_t pipeline, int rank) {
    const std::vector<float> part(4, static_cast<float>(1 + rank));
    for (int use = 0; use < 2; ++use)
      EXPECT_EQ(plPipelineReadyFrom(pipeline, 0, part.data(), nullptr), plSuccess);
    EXPECT_EQ(plPipelineReadyFrom(pipeline, 0, part.data(), nullptr), plInvalidArgument);
    EXPECT_TRUE(last_error_has("gradient 0 (tied) is ready more than 2 times"));
    EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plSuccess);
    EXPECT_EQ(gradient_of(pipeline, 0)[3], 3);
  });
}

TEST(CPipeline, ARankWithoutDataJoins) {
  run_pipelines({floats(6)}, [](plPipeline_t pipeline, int rank) {
    const std::vector<float> ones(6, 1);
    for (int step = 0; rank == 0 && step < 3; ++step) {
      plStepResult_t result = {};
      EXPECT_EQ(plPipelineReadyFrom(pipeline, 0, ones.data(), nullptr), plSuccess);
      EXPECT_EQ(plPipelineWaitAll(pipeline, &result, nullptr), plSuccess);
      EXPECT_EQ(result.ranks, 1);
    }
    int joined_steps = 0, all_have_joined = 0;
    for (;; ++joined_steps) {
      plStepResult_t result = {};
      ASSERT_EQ(plPipelineJoin(pipeline, &result, &all_have_joined, nullptr), plSuccess)
          << plGetLastError(nullptr);
      if (all_have_joined != 0) break;
      EXPECT_EQ(result.ranks, 1);
      EXPECT_EQ(gradient_of(pipeline, 0)[5], 1);
    }
    EXPECT_EQ(joined_steps, rank == 0 ? 0 : 3);
  });
}

TEST(CPipeline, AnOverflowNamesItsRankAndParameter) {
  run_pipelines({floats(3), floats(4)}, [](plPipeline_t pipeline, int rank) {
    if (rank == 1) gradient_of(pipeline, 1)[2] = std::numeric_limits<float>::infinity();
    EXPECT_EQ(plPipelineSetLossScale(pipeline, 1024), plSuccess);
    EXPECT_EQ(plPipelineReady(pipeline, 1, nullptr), plSuccess);
    EXPECT_EQ(plPipelineReady(pipeline, 0, nullptr), plSuccess);
    plStepResult_t result = {};
    EXPECT_EQ(plPipelineWaitAll(pipeline, &result, nullptr), plSuccess);
    EXPECT_EQ(result.hasOverflow, 1);
    EXPECT_EQ(result.overflowRank, 1);
    EXPECT_EQ(result.overflowParameter, 1u);
  });
}

TEST(CPipeline, SeveralThreadsMakeGradientsReady) {
  const std::vector<plParameter_t> list(16, floats(1'000));
  run_pipelines(list, [](plPipeline_t pipeline, int rank) {
    for (int step = 0; step < 10; ++step) {
      std::vector<std::thread> threads;
      for (std::size_t first = 0; first < 4; ++first)
        threads.emplace_back([=] {
          for (std::size_t i = first; i < 16; i += 4) {
            std::fill_n(gradient_of(pipeline, i), 1'000, static_cast<float>(2 * rank + step));
            EXPECT_EQ(plPipelineReady(pipeline, i, nullptr), plSuccess);
          }
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plSuccess);
      for (std::size_t i = 0; i < 16; ++i)
        EXPECT_EQ(gradient_of(pipeline, i)[999], static_cast<float>(1 + step));
    }
  });
}

TEST(CPipeline, AnAbortOfAnotherThreadEndsTheStepAndFreesNothing) {
  std::latch begun(2), ended(1);  // begun: both ranks have found no error
  run_pipelines({floats(5)}, [&](plPipeline_t pipeline, int rank) {
    plResult_t error = plSuccess;
    EXPECT_EQ(plPipelineGetAsyncError(pipeline, &error), plSuccess);
    EXPECT_EQ(error, plSuccess);
    if (rank == 1) begun.count_down();
    if (rank == 0) {
      // Rank 1 takes no part yet, so only the abort ends the wait.
      std::thread other([&] {
        begun.wait();
        EXPECT_EQ(plPipelineAbort(pipeline), plSuccess);
      });
      EXPECT_EQ(plPipelineReady(pipeline, 0, nullptr), plSuccess);
      begun.count_down();
      EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plCancelled);
      other.join();
      gradient_of(pipeline, 0)[4] = 1;
      EXPECT_EQ(plPipelineGetAsyncError(pipeline, &error), plSuccess);
      EXPECT_EQ(error, plCancelled);
      EXPECT_NE(std::string(plGetLastError(nullptr)), "");
      ended.count_down();
    }
    ended.wait();
    EXPECT_EQ(plPipelineWaitAll(pipeline, nullptr, nullptr), plCancelled);
  });
}

}  // namespace
}  // namespace paceline::testing
