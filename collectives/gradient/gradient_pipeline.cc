#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/agreement.h"
#include "collectives/gradient/device_mirror.h"
#include "collectives/gradient/device_reduction.h"
#include "collectives/gradient/gradient_core.h"
#include "collectives/gradient/kernels/image.h"
#include "collectives/requests.h"
#include "comm/base/argument_error.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

constexpr int kMostPowerSgdRank = 256;

std::string text(double value) {
  std::array<char, 32> digits;
  std::snprintf(digits.data(), digits.size(), "%g", value);
  return digits.data();
}

// The comparisons also refuse NaN.
Status check(const GradientOptions& options) {
  if (static_cast<std::size_t>(options.codec) >= kCodecs)
    return argument_error("codec is not a value of Codec");
  if (!(options.error_budget >= 0))
    return argument_error("error_budget " + text(options.error_budget) +
                          " is not allowed; use 0 or more");
  if (!(options.top_k_share > 0 && options.top_k_share <= 1))
    return argument_error("top_k_share " + text(options.top_k_share) +
                          " is not allowed; use more than 0, and at most 1");
  if (options.power_sgd_rank < 1 || options.power_sgd_rank > kMostPowerSgdRank)
    return argument_error("power_sgd_rank " + std::to_string(options.power_sgd_rank) +
                          " is not allowed; use 1 to 256");
  if (options.forces_codec && options.codec == Codec::kAuto)
    return argument_error("forces_codec is not allowed with codec kAuto; name a codec");
  return {};
}

struct GradientMemory {
  GradientArena arena;
  std::unique_ptr<DeviceMirror> mirror{};  // null without on_device

  explicit GradientMemory(GradientArena from) : arena(std::move(from)) {}
  GradientMemory(GradientMemory&&) noexcept = default;
  GradientMemory& operator=(GradientMemory&&) = delete;
  // A pipeline that is made takes the mirror.
  ~GradientMemory() {
    if (mirror != nullptr) mirror->leave(arena);
  }
};

// A library of the communicator works on one device only.
Status check_device(CommunicatorCore& core, const Device& device) {
  const Engine::Baton baton = core.parts().engine->hold();
  const Device* const library = core.on_devices().library_device();
  if (library == nullptr || library == &device) return {};
  return argument_error("this thread's GPU is " + device.name() +
                        ", but the communicator has been used with " + library->name() +
                        "; use create(), or a communicator of its own");
}

Result<GradientMemory> make_memory(CommunicatorCore& core, std::span<const Parameter> parameters,
                                   const GradientOptions& options) {
  PACELINE_TRY(check(options));
  PACELINE_TRY_ASSIGN(GradientArena arena, GradientArena::make(parameters));
  GradientMemory memory(std::move(arena));
  if (options.on_device) {
    PACELINE_TRY_ASSIGN(memory.mirror, DeviceMirror::make(core.held(), memory.arena));
    PACELINE_TRY(check_device(core, memory.mirror->device()));
  }
  return memory;
}

// The CPU has to reduce with other codecs, and in the modes in which bits are the same.
bool is_for_library(const GradientOptions& options, Determinism determinism) {
  return options.on_device && determinism == Determinism::kFast &&
         (options.codec == Codec::kNone || has_device_codec(options.codec));
}

// If a rank cannot load them, the CPU reduces copies on all ranks. Its log says why.
bool loads_kernels(CommunicatorCore& core, Device& device) {
  const Status loaded = load_gradient_kernels(device);
  if (!loaded.ok() && core.parts().log != nullptr)
    core.parts().log->write(
        Severity::kInfo,
        "gradients: NCCL cannot reduce them with these options, because " + loaded.text());
  return loaded.ok();
}

// Whether a library can, is known after an operation on device memory.
Result<bool> can_use_library(CommunicatorCore& core, const DeviceMirror& mirror,
                             std::span<const Parameter> parameters) {
  OperationRequest empty = requests::all_reduce(nullptr, nullptr, 0, DataType::kFloat32);
  empty.stream = mirror.stream(DeviceMirror::When::kBefore);
  PACELINE_TRY(core.run(std::move(empty)));
  const Engine::Baton baton = core.parts().engine->hold();
  return std::ranges::all_of(parameters, [&core](const Parameter& one) {
    return core.on_devices().reduces_by_library(one.type);
  });
}

Status moved_from() { return argument_error("this GradientPipeline was moved from"); }

}  // namespace

GradientPipeline::GradientPipeline(std::unique_ptr<GradientCore> core) : core_(std::move(core)) {}
GradientPipeline::GradientPipeline(GradientPipeline&&) noexcept = default;
GradientPipeline& GradientPipeline::operator=(GradientPipeline&& other) noexcept {
  const GradientPipeline old(std::exchange(core_, std::move(other.core_)));
  return *this;
}
// As for a Communicator: a forked child must not send a goodbye in the name of its parent.
GradientPipeline::~GradientPipeline() {
  if (core_ != nullptr && core_->is_out_of_reach()) (void)core_.release();
}

Status GradientPipeline::usable() const {
  return core_ == nullptr ? moved_from() : core_->refuse_child();
}

Result<GradientPipeline> GradientPipeline::create(Communicator& world,
                                                  std::vector<Parameter> parameters,
                                                  const GradientOptions& options) {
  PACELINE_TRY_ASSIGN(std::optional<Communicator> own, world.split(0, world.rank()));
  return over(*std::move(own), std::move(parameters), options);
}

// A rank whose arguments are wrong tells the others, which would wait for it otherwise.
Result<GradientPipeline> GradientPipeline::over(Communicator own, std::vector<Parameter> parameters,
                                                const GradientOptions& options) {
  if (own.core() == nullptr) return argument_error("the Communicator was moved from");
  PACELINE_TRY(own.core()->refuse_child());
  Result<GradientMemory> memory = make_memory(*own.core(), parameters, options);
  const Group& group = own.group();
  bool by_library =
      memory.ok() && is_for_library(options, own.core()->parts().determinism) &&
      (!needs_kernels(options) || loads_kernels(*own.core(), memory->mirror->device()));
  const PipelineOffer offer = offer_of(parameters, options, memory.status(), by_library);
  std::vector<PipelineOffer> offers(group.members.size());
  PACELINE_TRY(own.all_gather(&offer, offers.data(), PipelineOffer::kWords, DataType::kUInt64));
  PACELINE_TRY(judge_offers(offers, group, memory.status()));
  by_library = std::ranges::all_of(offers, [](auto& one) { return one.by_library != 0; });
  if (by_library) {
    PACELINE_TRY_ASSIGN(by_library, can_use_library(*own.core(), *memory->mirror, parameters));
  }
  return GradientPipeline(std::make_unique<GradientCore>(
      std::move(own), std::move(memory->arena), std::move(memory->mirror), std::move(parameters),
      options, by_library));
}

std::span<std::byte> GradientPipeline::gradient(std::size_t parameter) const {
  return core_ == nullptr ? std::span<std::byte>() : core_->gradient(parameter);
}
Status GradientPipeline::ready(std::size_t parameter) {
  PACELINE_TRY(usable());
  return core_->ready(parameter, nullptr);
}
Status GradientPipeline::ready(std::size_t parameter, const void* gradient) {
  PACELINE_TRY(usable());
  return core_->ready(parameter, gradient, nullptr);
}
Status GradientPipeline::ready_on(std::size_t parameter, void* stream) {
  PACELINE_TRY(usable());
  return core_->ready(parameter, stream);
}
Status GradientPipeline::ready_on(std::size_t parameter, const void* gradient, void* stream) {
  PACELINE_TRY(usable());
  return core_->ready(parameter, gradient, stream);
}
Status GradientPipeline::wait(std::size_t parameter) {
  PACELINE_TRY(usable());
  return core_->wait(parameter, std::nullopt);
}
Status GradientPipeline::wait_on(std::size_t parameter, void* stream) {
  PACELINE_TRY(usable());
  return core_->wait(parameter, stream);
}
Result<StepResult> GradientPipeline::wait() {
  PACELINE_TRY(usable());
  return core_->wait(std::nullopt);
}
Result<StepResult> GradientPipeline::wait_on(void* stream) {
  PACELINE_TRY(usable());
  return core_->wait(stream);
}
Status GradientPipeline::set_accumulating(bool is_accumulating) {
  PACELINE_TRY(usable());
  return core_->set_accumulating(is_accumulating);
}
Result<std::optional<StepResult>> GradientPipeline::join() {
  PACELINE_TRY(usable());
  return core_->join(std::nullopt);
}
Result<std::optional<StepResult>> GradientPipeline::join_on(void* stream) {
  PACELINE_TRY(usable());
  return core_->join(stream);
}
Status GradientPipeline::set_frozen(std::size_t parameter, bool is_frozen) {
  PACELINE_TRY(usable());
  return core_->set_frozen(parameter, is_frozen);
}
Status GradientPipeline::set_loss_scale(double scale) {
  PACELINE_TRY(usable());
  return core_->set_loss_scale(scale);
}
Status GradientPipeline::set_timeout(std::chrono::milliseconds timeout) {
  PACELINE_TRY(usable());
  return core_->set_timeout(timeout);
}
void GradientPipeline::abort() {
  if (usable().ok()) core_->abort();
}
Status GradientPipeline::failure() const {
  PACELINE_TRY(usable());
  return core_->look_for_failure();
}
std::vector<std::byte> GradientPipeline::state() const {
  return core_ == nullptr ? std::vector<std::byte>() : core_->state();
}
Status GradientPipeline::load_state(std::span<const std::byte> state) {
  PACELINE_TRY(usable());
  return core_->load_state(state);
}
const std::vector<Parameter>& GradientPipeline::parameters() const {
  static const std::vector<Parameter> none;
  return core_ == nullptr ? none : core_->parameters();
}
GradientStats GradientPipeline::stats() const {
  return core_ == nullptr || core_->is_of_another_process() ? GradientStats() : core_->stats();
}
std::string GradientPipeline::describe() const {
  return core_ == nullptr ? std::string() : core_->describe();
}

}  // namespace paceline
