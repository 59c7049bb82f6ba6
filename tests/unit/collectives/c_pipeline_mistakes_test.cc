// Wrong calls on gradient pipelines of the C interface: each is refused with a sentence, and leaves
// the pipeline usable. Wrong arguments of one rank are told to the other.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <paceline/pipeline.h>

#include "tests/unit/collectives/ranks_in_c.h"

namespace paceline::testing {
namespace {

constexpr plParameter_t kModel[] = {
    {.name = "a", .count = 6, .datatype = plFloat32, .columns = 0, .uses = 0},
    {.name = nullptr, .count = 2, .datatype = plFloat64, .columns = 0, .uses = 0}};

void expect_refused(plResult_t result, const std::string& part) {
  const std::string text = plGetLastError(nullptr);
  EXPECT_EQ(result, plInvalidArgument) << part;
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' does not contain: " << part;
}

class CPipelineMistakes : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(plCommInitFromEnvironment(&comm_, nullptr), plSuccess);
    ASSERT_EQ(plPipelineCreate(&pipeline_, comm_, kModel, 2, nullptr), plSuccess);
  }
  void TearDown() override {
    if (pipeline_ != nullptr) {
      EXPECT_EQ(plPipelineReady(pipeline_, 0, nullptr), plSuccess) << "it is usable";
      EXPECT_EQ(plPipelineWaitAll(pipeline_, nullptr, nullptr), plSuccess);
    }
    EXPECT_EQ(plPipelineDestroy(pipeline_), plSuccess);
    EXPECT_EQ(plCommDestroy(comm_), plSuccess);
  }
  void expect_no_pipeline(const plParameter_t& parameter, const plPipelineConfig_t& with,
                          const std::string& part) {
    plPipeline_t made = pipeline_;
    expect_refused(plPipelineCreate(&made, comm_, &parameter, 1, &with), part);
    EXPECT_EQ(made, nullptr);
    EXPECT_NE(std::string(plGetLastError(comm_)).find(part), std::string::npos);
  }

  plComm_t comm_ = nullptr;
  plPipeline_t pipeline_ = nullptr;
};

TEST_F(CPipelineMistakes, ParametersThatCannotBe) {
  plParameter_t wrong = {};
  expect_no_pipeline(wrong, pipeline_config(), "parameter 0 (parameter 0): its type is not a");
  wrong.datatype = static_cast<plDataType_t>(33);
  expect_no_pipeline(wrong, pipeline_config(), "its type is not a floating-point type");
  wrong = kModel[0];
  wrong.uses = -1;
  expect_no_pipeline(wrong, pipeline_config(), "parameter 0 (a): -1 uses");
  wrong = kModel[0];
  wrong.columns = 4;
  expect_no_pipeline(wrong, pipeline_config(), "6 elements are not a multiple of 4 columns");
  wrong.count = SIZE_MAX;
  expect_no_pipeline(wrong, pipeline_config(), "exceed the limit");
  plPipeline_t made = nullptr;
  expect_refused(plPipelineCreate(&made, comm_, nullptr, 1, nullptr), "list of parameters is NULL");
  expect_refused(plPipelineCreate(nullptr, comm_, kModel, 2, nullptr), "pipeline is NULL");
  expect_refused(plPipelineCreate(&made, nullptr, kModel, 2, nullptr), "communicator is NULL");
}

TEST_F(CPipelineMistakes, ConfigurationsThatCannotBe) {
  const auto with = [](auto plPipelineConfig_t::*field, auto value) {
    plPipelineConfig_t wrong = pipeline_config();
    wrong.*field = value;
    return wrong;
  };
  const plParameter_t& one = kModel[0];
  using Config = plPipelineConfig_t;
  expect_no_pipeline(one, Config{}, "was not initialized with PL_PIPELINE_CONFIG_INITIALIZER");
  expect_no_pipeline(one, with(&Config::size, sizeof(Config) + 8), "is of a newer version");
  expect_no_pipeline(one, with(&Config::codec, -1), "codec is not a value of plCodec_t");
  expect_no_pipeline(one, with(&Config::codec, 256 + plCodecBf16), "codec is not a value of");
  expect_no_pipeline(one, with(&Config::powerSgdRank, INT64_MAX), "powerSgdRank is not allowed");
  expect_no_pipeline(one, with(&Config::powerSgdRank, 257), "257 is not allowed; use 1 to 256");
  expect_no_pipeline(one, with(&Config::topKShare, 0.), "0 is not allowed; use more than 0");
  expect_no_pipeline(one, with(&Config::errorBudget, -1.), "-1 is not allowed; use 0 or more");
  plPipelineConfig_t forced = with(&Config::codec, plCodecAuto);
  forced.forcesCodec = 1;
  expect_no_pipeline(one, forced, "name a codec");
}

TEST_F(CPipelineMistakes, NoPipeline) {
  void* gradient = nullptr;
  std::size_t bytes = 0;
  int number = 0;
  plResult_t error = plSuccess;
  const std::string none = "the pipeline is NULL";
  expect_refused(plPipelineGradient(nullptr, 0, &gradient), none);
  expect_refused(plPipelineReady(nullptr, 0, nullptr), none);
  expect_refused(plPipelineReadyFrom(nullptr, 0, &gradient, nullptr), none);
  expect_refused(plPipelineWait(nullptr, 0, nullptr), none);
  expect_refused(plPipelineWaitAll(nullptr, nullptr, nullptr), none);
  expect_refused(plPipelineJoin(nullptr, nullptr, &number, nullptr), none);
  expect_refused(plPipelineSetAccumulating(nullptr, 1), none);
  expect_refused(plPipelineSetFrozen(nullptr, 0, 1), none);
  expect_refused(plPipelineSetLossScale(nullptr, 1), none);
  expect_refused(plPipelineSetTimeout(nullptr, 1), none);
  expect_refused(plPipelineGetAsyncError(nullptr, &error), none);
  expect_refused(plPipelineAbort(nullptr), none);
  expect_refused(plPipelineState(nullptr, nullptr, &bytes), none);
  expect_refused(plPipelineLoadState(nullptr, &bytes, 1), none);
  EXPECT_EQ(plPipelineDestroy(nullptr), plSuccess);
}

TEST_F(CPipelineMistakes, ArgumentsOfCalls) {
  void* gradient = &gradient;
  int number = 0;
  const auto stream = reinterpret_cast<plStream_t>(&number);
  const std::string host =
      "the stream must be NULL: the gradients of this pipeline lie in host memory";
  expect_refused(plPipelineGradient(pipeline_, 0, nullptr), "the gradient is NULL");
  expect_refused(plPipelineGradient(pipeline_, 2, &gradient), "gradient 2 does not exist");
  EXPECT_EQ(gradient, nullptr);
  expect_refused(plPipelineReady(pipeline_, 2, nullptr), "2");
  expect_refused(plPipelineReady(pipeline_, 0, stream), host);
  expect_refused(plPipelineReadyFrom(pipeline_, 0, nullptr, nullptr),
                 "gradient 0 (a): the pointer");
  expect_refused(plPipelineReadyFrom(pipeline_, 1, nullptr, nullptr), "1 (parameter 1)");
  expect_refused(plPipelineReadyFrom(pipeline_, 0, &number, stream), host);
  expect_refused(plPipelineWait(pipeline_, SIZE_MAX, nullptr), "gradient");
  expect_refused(plPipelineWait(pipeline_, 0, stream), host);
  expect_refused(plPipelineWaitAll(pipeline_, nullptr, stream), host);
  expect_refused(plPipelineJoin(pipeline_, nullptr, nullptr, nullptr), "allHaveJoined is NULL");
  expect_refused(plPipelineJoin(pipeline_, nullptr, &number, stream), host);
  expect_refused(plPipelineSetFrozen(pipeline_, 2, 1), "2");
  expect_refused(plPipelineSetLossScale(pipeline_, -1), "above 0");
  expect_refused(plPipelineSetTimeout(pipeline_, -5), "-5");
  EXPECT_EQ(plPipelineSetTimeout(pipeline_, 20'000), plSuccess);
  expect_refused(plPipelineGetAsyncError(pipeline_, nullptr), "the result is NULL");
  expect_refused(plPipelineState(pipeline_, nullptr, nullptr), "the length is NULL");
  expect_refused(plPipelineLoadState(pipeline_, nullptr, 8), "the state is NULL");
}

TEST_F(CPipelineMistakes, APipelineIsFreedOnce) {
  EXPECT_EQ(plPipelineDestroy(pipeline_), plSuccess);
  expect_refused(plPipelineDestroy(pipeline_), "it was destroyed before");
  expect_refused(plPipelineAbort(pipeline_), "it was destroyed before");
  expect_refused(plPipelineDestroy(reinterpret_cast<plPipeline_t>(comm_)), "not a gradient");
  pipeline_ = nullptr;
}

TEST(CPipelineMistakesOfRanks, WrongArgumentsOfOneRankAreToldToTheOther) {
  run_ranks_in_c(2, [](plComm_t comm, int rank) {
    plPipelineConfig_t with = pipeline_config();
    with.codec = rank == 1 ? 99 : 0;
    plPipeline_t made = nullptr;
    const plResult_t result = plPipelineCreate(&made, comm, kModel, 2, &with);
    EXPECT_EQ(result, rank == 1 ? plInvalidArgument : plMismatch);
    const std::string text = plGetLastError(comm);
    EXPECT_NE(text.find(rank == 1 ? "plCodec_t" : "rank 1"), std::string::npos) << text;
    EXPECT_EQ(made, nullptr);
    ASSERT_EQ(plPipelineCreate(&made, comm, kModel, 2, nullptr), plSuccess) << plGetLastError(comm);
    EXPECT_EQ(plPipelineDestroy(made), plSuccess);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

TEST(CPipelineMistakesOfRanks, OtherParametersAreAMismatch) {
  run_ranks_in_c(2, [](plComm_t comm, int rank) {
    plPipeline_t made = nullptr;
    EXPECT_EQ(plPipelineCreate(&made, comm, kModel, static_cast<std::size_t>(1 + rank), nullptr),
              plMismatch);
    EXPECT_EQ(made, nullptr);
    EXPECT_EQ(plCommDestroy(comm), plSuccess);
  });
}

}  // namespace
}  // namespace paceline::testing
