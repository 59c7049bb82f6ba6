// What a GradientCore keeps from one step to the next, as bytes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/gradient/gradient_core.h"

namespace paceline {
namespace {

struct StateHead {
  std::uint64_t kind = 0x5354415447314C50;  // "PL1GTATS": of this form and version
  std::uint64_t digest = 0;                 // of parameters and options
  std::uint32_t rank = 0, ranks = 0;
  std::uint64_t elements = 0;

  bool operator==(const StateHead&) const = default;
};

Status refused(const char* why) {
  return {Code::kInvalidArgument, Scope::kOperation,
          std::string("cannot load the state of a gradient pipeline: ") + why};
}

}  // namespace

std::vector<std::byte> GradientCore::state() const {
  const StateHead head{.digest = digest_,
                       .rank = static_cast<std::uint32_t>(own_->group().rank),
                       .ranks = static_cast<std::uint32_t>(own_->group().size()),
                       .elements = feedback_.elements()};
  std::vector<std::byte> state(sizeof head);
  std::memcpy(state.data(), &head, sizeof head);
  feedback_.save(state);
  bases_.save(state);
  return state;
}

Status GradientCore::load_state(std::span<const std::byte> state) {
  if (phase_ != Phase::kIdle || micro_steps_ > 0)
    return refused("a step has begun; load it between steps");
  StateHead head;
  if (state.size() < sizeof head) return refused("it is too short");
  std::memcpy(&head, state.data(), sizeof head);
  if (head.kind != StateHead().kind) return refused("it is not such a state");
  if (head.digest != digest_) return refused("it was saved with other parameters or options");
  if (head.rank != static_cast<std::uint32_t>(own_->group().rank) ||
      head.ranks != static_cast<std::uint32_t>(own_->group().size()))
    return refused("it was saved by another rank, or with another number of ranks");
  const std::span<const std::byte> rest = state.subspan(sizeof head);
  if (head.elements != feedback_.elements() || rest.size() < feedback_.elements() * sizeof(float))
    return refused("its length is wrong");
  const std::span<const std::byte> elements = rest.first(feedback_.elements() * sizeof(float));
  std::vector<float> residual(feedback_.elements());
  if (!elements.empty()) std::memcpy(residual.data(), elements.data(), elements.size());
  for (const float one : residual)
    if (!std::isfinite(one)) return refused("it is damaged: it has values that are not finite");
  if (const Status loaded = bases_.load(rest.subspan(elements.size())); !loaded.ok())
    return refused(loaded.text().c_str());
  feedback_.load(residual);
  return {};
}

}  // namespace paceline
