// What a GradientCore keeps from one step to the next, as bytes.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "collectives/gradient/gradient_core.h"
#include "comm/base/try.h"

namespace paceline {
namespace {

struct StateHead {
  std::uint64_t kind = 0x5354415447324C50;  // "PL2GTATS": of this form and version
  std::uint64_t digest = 0;                 // of parameters and options
  std::uint32_t rank = 0, ranks = 0;
  std::uint64_t elements = 0;
  double loss_scale = 1;

  bool operator==(const StateHead&) const = default;
};

Status refused(const char* why) {
  return {Code::kInvalidArgument, Scope::kOperation,
          std::string("cannot load the state of a gradient pipeline: ") + why};
}

}  // namespace

std::vector<std::byte> GradientCore::state() const {
  const StateHead head{.digest = digest_,
                       .rank = static_cast<std::uint32_t>(own_.group().rank),
                       .ranks = static_cast<std::uint32_t>(own_.group().size()),
                       .elements = feedback_.elements(),
                       .loss_scale = loss_scale_};
  std::vector<std::byte> state(sizeof head);
  std::memcpy(state.data(), &head, sizeof head);
  feedback_.save(state);
  bases_.save(state);
  return state;
}

Status GradientCore::load_state(std::span<const std::byte> state) {
  PACELINE_TRY(check_between_steps("load a state"));
  StateHead head;
  if (state.size() < sizeof head) return refused("it is too short");
  std::memcpy(&head, state.data(), sizeof head);
  if (head.kind != StateHead().kind) return refused("it is not such a state");
  if (head.digest != digest_) return refused("it was saved with other parameters or options");
  const bool is_same_rank = head.rank == static_cast<std::uint32_t>(own_.group().rank) &&
                            head.ranks == static_cast<std::uint32_t>(own_.group().size());
  if (!is_same_rank && feedback_.is_kept())
    return refused("it was saved by another rank, or with another number of ranks");
  const std::span<const std::byte> rest = state.subspan(sizeof head);
  if (head.elements != feedback_.elements() || rest.size() < feedback_.elements() * sizeof(float))
    return refused("its length is wrong");
  const std::span<const std::byte> elements = rest.first(feedback_.elements() * sizeof(float));
  std::vector<float> residual(feedback_.elements());
  if (!elements.empty()) std::memcpy(residual.data(), elements.data(), elements.size());
  for (const float one : residual)
    if (!std::isfinite(one)) return refused("it is damaged: it has values that are not finite");
  if (!(head.loss_scale > 0) || !std::isfinite(head.loss_scale))
    return refused("it is damaged: its loss scale is not a positive number");
  if (const Status loaded = bases_.load(rest.subspan(elements.size())); !loaded.ok())
    return refused(loaded.text().c_str());
  feedback_.load(residual);
  if (head.loss_scale != loss_scale_)
    feedback_.scale(static_cast<float>(loss_scale_ / head.loss_scale));
  for (std::size_t i = 0; feedback_.is_kept() && i < is_frozen_.size(); ++i)
    if (is_frozen_[i]) feedback_.clear(arena_.place(i));  // as set_frozen() does
  return {};
}

}  // namespace paceline
