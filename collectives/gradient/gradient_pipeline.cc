#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/gradient_core.h"
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

}  // namespace

GradientPipeline::GradientPipeline(std::unique_ptr<GradientCore> core) : core_(std::move(core)) {}
GradientPipeline::GradientPipeline(GradientPipeline&&) noexcept = default;
GradientPipeline& GradientPipeline::operator=(GradientPipeline&& other) noexcept {
  const GradientPipeline old(std::exchange(core_, std::move(other.core_)));
  return *this;
}
// As of a Communicator: a child that a fork has made must not say goodbye in its parent's name.
GradientPipeline::~GradientPipeline() {
  if (core_ != nullptr && core_->is_out_of_reach()) (void)core_.release();
}

Result<GradientPipeline> GradientPipeline::create(Communicator& world,
                                                  std::vector<Parameter> parameters,
                                                  const GradientOptions& options) {
  PACELINE_TRY(check(options));
  PACELINE_TRY_ASSIGN(std::optional<Communicator> own, world.split(0, world.rank()));
  return over(*std::move(own), std::move(parameters), options);
}

Result<GradientPipeline> GradientPipeline::over(Communicator own, std::vector<Parameter> parameters,
                                                const GradientOptions& options) {
  PACELINE_TRY(own.core_->refuse_child());
  PACELINE_TRY(check(options));
  PACELINE_TRY_ASSIGN(GradientArena arena, GradientArena::make(parameters));
  auto core = std::make_unique<GradientCore>(std::move(own.core_), std::move(arena),
                                             std::move(parameters), options);
  PACELINE_TRY(core->agree());
  return GradientPipeline(std::move(core));
}

std::span<std::byte> GradientPipeline::gradient(std::size_t parameter) const {
  return core_->gradient(parameter);
}
Status GradientPipeline::ready(std::size_t parameter) {
  PACELINE_TRY(core_->refuse_child());
  return core_->ready(parameter);
}
Status GradientPipeline::ready(std::size_t parameter, const void* gradient) {
  PACELINE_TRY(core_->refuse_child());
  return core_->ready(parameter, gradient);
}
Status GradientPipeline::wait(std::size_t parameter) {
  PACELINE_TRY(core_->refuse_child());
  return core_->wait(parameter);
}
Result<StepResult> GradientPipeline::wait() {
  PACELINE_TRY(core_->refuse_child());
  return core_->wait();
}
Status GradientPipeline::set_accumulating(bool is_accumulating) {
  PACELINE_TRY(core_->refuse_child());
  return core_->set_accumulating(is_accumulating);
}
Result<std::optional<StepResult>> GradientPipeline::join() {
  PACELINE_TRY(core_->refuse_child());
  return core_->join();
}
Status GradientPipeline::set_frozen(std::size_t parameter, bool is_frozen) {
  PACELINE_TRY(core_->refuse_child());
  return core_->set_frozen(parameter, is_frozen);
}
std::vector<std::byte> GradientPipeline::state() const { return core_->state(); }
Status GradientPipeline::load_state(std::span<const std::byte> state) {
  PACELINE_TRY(core_->refuse_child());
  return core_->load_state(state);
}
const std::vector<Parameter>& GradientPipeline::parameters() const { return core_->parameters(); }
GradientStats GradientPipeline::stats() const {
  return core_->is_of_another_process() ? GradientStats() : core_->stats();
}
std::string GradientPipeline::describe() const { return core_->describe(); }

}  // namespace paceline
