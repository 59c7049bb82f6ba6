// Gradient pipelines in C: each call is the member of GradientPipeline that the header names.
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <paceline/gradient_pipeline.h>
#include <paceline/pipeline.h>

#include "collectives/c_interface/calls.h"
#include "collectives/c_interface/handles.h"
#include "collectives/c_interface/words.h"
#include "collectives/gradient/arena.h"
#include "comm/base/argument_error.h"
#include "comm/base/try.h"

using namespace paceline::c_interface;
using paceline::Codec;
using paceline::Communicator;
using paceline::GradientOptions;
using paceline::GradientPipeline;
using paceline::Parameter;
using paceline::Result;
using paceline::Status;
using paceline::StepResult;

struct plPipeline {
  explicit plPipeline(GradientPipeline made) : pipeline(std::move(made)) {}

  const paceline::ProcessMark made_in;
  GradientPipeline pipeline;
};

namespace {

static_assert(plCodecNone == static_cast<int>(Codec::kNone));
static_assert(plCodecBf16 == static_cast<int>(Codec::kBf16));
static_assert(plCodecFp16 == static_cast<int>(Codec::kFp16));
static_assert(plCodecInt8 == static_cast<int>(Codec::kInt8));
static_assert(plCodecTopK == static_cast<int>(Codec::kTopK));
static_assert(plCodecPowerSgd == static_cast<int>(Codec::kPowerSgd));
static_assert(plCodecAuto == static_cast<int>(Codec::kAuto) &&
              plCodecAuto + 1 == paceline::kCodecs);

Result<std::vector<Parameter>> parameters_of(const plParameter_t* list, std::size_t count) {
  if (list == nullptr && count > 0) return invalid("the list of parameters is NULL");
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < count; ++i) {
    const plParameter_t& one = list[i];
    parameters.push_back({.name = one.name != nullptr ? one.name : "parameter " + std::to_string(i),
                          .count = one.count,
                          .type = type_of(one.datatype),
                          .columns = one.columns,
                          .uses = one.uses == 0 ? 1 : one.uses});
  }
  return parameters;
}

// GradientPipeline checks the values that it can have.
Result<GradientOptions> options_of(const plPipelineConfig_t* config) {
  if (config == nullptr) return GradientOptions();
  if (config->size < sizeof(plPipelineConfig_t))
    return invalid("the configuration was not initialized with PL_PIPELINE_CONFIG_INITIALIZER");
  if (config->size > sizeof(plPipelineConfig_t))
    return invalid("the configuration is of a newer version than this library");
  if (config->codec < plCodecNone || config->codec > plCodecAuto)
    return invalid("codec is not a value of plCodec_t");
  if (!std::in_range<int>(config->powerSgdRank))
    return invalid("powerSgdRank is not allowed; use 1 to 256");
  return GradientOptions{.is_average = config->isAverage != 0,
                         .bucket_bytes = config->bucketBytes,
                         .max_bytes_in_flight = config->maxBytesInFlight,
                         .finds_overflow = config->findsOverflow != 0,
                         .computes_norm = config->computesNorm != 0,
                         .codec = static_cast<Codec>(config->codec),
                         .forces_codec = config->forcesCodec != 0,
                         .error_budget = config->errorBudget,
                         .top_k_share = config->topKShare,
                         .power_sgd_rank = static_cast<int>(config->powerSgdRank),
                         .on_device = config->onDevice != 0};
}

struct Model {
  std::vector<Parameter> parameters;
  GradientOptions options;
};

Result<Model> model_of(plPipeline_t* pipeline, const plParameter_t* list, std::size_t count,
                       const plPipelineConfig_t* config) {
  if (pipeline == nullptr) return invalid("the pointer for the pipeline is NULL");
  PACELINE_TRY_ASSIGN(std::vector<Parameter> parameters, parameters_of(list, count));
  PACELINE_TRY_ASSIGN(const GradientOptions options, options_of(config));
  return Model{std::move(parameters), options};
}

// The other ranks would wait until their timeout for a rank that does not take part. All ranks
// refuse these options, and the others name this rank.
void take_part_without_model(Communicator& world) {
  const auto no_codec = static_cast<Codec>(paceline::kCodecs);
  (void)GradientPipeline::create(world, {}, {.codec = no_codec});
}

template <class Body>
plResult_t with(plPipeline* pipeline, const Body& body) noexcept {
  return guarded(nullptr, [&]() -> Status {
    if (pipeline == nullptr) return invalid("the pipeline is NULL");
    if (!pipeline->made_in.is_of_this_process())
      return pipeline->made_in.refusal("gradient pipeline");
    return body(pipeline->pipeline);
  });
}

void tell(plStepResult_t* into, const StepResult& result) {
  if (into == nullptr) return;
  const auto overflow = result.overflow.value_or(paceline::Overflow());
  *into = {.ranks = result.ranks,
           .hasOverflow = result.overflow.has_value() ? 1 : 0,
           .overflowRank = overflow.rank,
           .overflowParameter = overflow.parameter,
           .norm = result.norm};
}

Status no_pipeline() {
  return invalid("this is not a gradient pipeline, or it was destroyed before");
}

}  // namespace

plResult_t plPipelineCreate(plPipeline_t* pipeline, plComm_t comm, const plParameter_t* parameters,
                            size_t count, const plPipelineConfig_t* config) {
  if (pipeline != nullptr) *pipeline = nullptr;
  return on(comm, [&](Communicator& world) -> Status {
    Result<Model> model = model_of(pipeline, parameters, count, config);
    const std::lock_guard lock(comm->splitting);
    if (!model.ok()) take_part_without_model(world);
    PACELINE_TRY(model.status());
    PACELINE_TRY_ASSIGN(
        GradientPipeline made,
        GradientPipeline::create(world, std::move(model->parameters), model->options));
    auto handle = std::make_unique<plPipeline>(std::move(made));
    enter_handle(handle.get());
    *pipeline = handle.release();
    return {};
  });
}

plResult_t plPipelineDestroy(plPipeline_t pipeline) {
  return guarded(nullptr, [&]() -> Status {
    if (pipeline == nullptr) return {};
    if (!leave_handle(pipeline)) return no_pipeline();
    delete pipeline;
    return {};
  });
}

plResult_t plPipelineAbort(plPipeline_t pipeline) {
  if (pipeline != nullptr && !is_handle(pipeline))
    return guarded(nullptr, [] { return no_pipeline(); });
  return with(pipeline, [](GradientPipeline& gradients) -> Status {
    gradients.abort();
    return {};
  });
}

plResult_t plPipelineGradient(plPipeline_t pipeline, size_t index, void** gradient) {
  if (gradient != nullptr) *gradient = nullptr;
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    if (gradient == nullptr) return invalid("the pointer for the gradient is NULL");
    PACELINE_TRY(paceline::check_gradient(index, gradients.parameters().size()));
    *gradient = gradients.gradient(index).data();
    return {};
  });
}

plResult_t plPipelineReady(plPipeline_t pipeline, size_t index, plStream_t stream) {
  return with(pipeline,
              [&](GradientPipeline& gradients) { return gradients.ready_on(index, stream); });
}

plResult_t plPipelineReadyFrom(plPipeline_t pipeline, size_t index, const void* gradient,
                               plStream_t stream) {
  return with(pipeline, [&](GradientPipeline& gradients) {
    return gradients.ready_on(index, gradient, stream);
  });
}

plResult_t plPipelineWait(plPipeline_t pipeline, size_t index, plStream_t stream) {
  return with(pipeline,
              [&](GradientPipeline& gradients) { return gradients.wait_on(index, stream); });
}

plResult_t plPipelineWaitAll(plPipeline_t pipeline, plStepResult_t* result, plStream_t stream) {
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    PACELINE_TRY_ASSIGN(const StepResult step, gradients.wait_on(stream));
    tell(result, step);
    return {};
  });
}

plResult_t plPipelineJoin(plPipeline_t pipeline, plStepResult_t* result, int* allHaveJoined,
                          plStream_t stream) {
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    if (allHaveJoined == nullptr) return invalid("allHaveJoined is NULL");
    PACELINE_TRY_ASSIGN(const std::optional<StepResult> step, gradients.join_on(stream));
    *allHaveJoined = step ? 0 : 1;
    if (step) tell(result, *step);
    return {};
  });
}

plResult_t plPipelineSetAccumulating(plPipeline_t pipeline, int isAccumulating) {
  return with(pipeline, [&](GradientPipeline& gradients) {
    return gradients.set_accumulating(isAccumulating != 0);
  });
}

plResult_t plPipelineSetFrozen(plPipeline_t pipeline, size_t index, int isFrozen) {
  return with(pipeline, [&](GradientPipeline& gradients) {
    return gradients.set_frozen(index, isFrozen != 0);
  });
}

plResult_t plPipelineSetLossScale(plPipeline_t pipeline, double scale) {
  return with(pipeline,
              [&](GradientPipeline& gradients) { return gradients.set_loss_scale(scale); });
}

plResult_t plPipelineSetTimeout(plPipeline_t pipeline, int64_t timeoutMs) {
  return with(pipeline, [&](GradientPipeline& gradients) {
    return gradients.set_timeout(std::chrono::milliseconds(timeoutMs));
  });
}

plResult_t plPipelineGetAsyncError(plPipeline_t pipeline, plResult_t* error) {
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    if (error == nullptr) return invalid("the pointer for the result is NULL");
    *error = note(nullptr, gradients.failure());
    return {};
  });
}

plResult_t plPipelineState(plPipeline_t pipeline, void* buffer, size_t* bytes) {
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    if (bytes == nullptr) return invalid("the pointer for the length is NULL");
    const std::vector<std::byte> state = gradients.state();
    const std::size_t room = std::exchange(*bytes, state.size());
    if (buffer == nullptr) return {};
    if (room < state.size()) {
      return paceline::argument_error("the buffer has " + std::to_string(room) +
                                      " bytes, and the state " + std::to_string(state.size()));
    }
    std::memcpy(buffer, state.data(), state.size());
    return {};
  });
}

plResult_t plPipelineLoadState(plPipeline_t pipeline, const void* state, size_t bytes) {
  return with(pipeline, [&](GradientPipeline& gradients) -> Status {
    if (state == nullptr) return invalid("the state is NULL");
    return gradients.load_state({static_cast<const std::byte*>(state), bytes});
  });
}
