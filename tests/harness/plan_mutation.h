// Breaks plans on purpose, one fault at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectives/plan/plan.h"
#include "comm/base/random.h"

namespace paceline::testing {

/// Where a message is dropped, doubled or of another length, half of the mutants change both of its
/// ends alike, so that the fault is not given away by the ends' disagreement.
enum class MutationClass : std::uint8_t {
  kDropped,     ///< a step is gone, or both ends of a message
  kDoubled,     ///< a step stands there twice, side by side or one after the other
  kMoved,       ///< a step stands elsewhere; it loses the dependencies that would point forwards
  kPeer,        ///< a message goes to or comes from another rank
  kOffset,      ///< a step reads or writes somewhere else in its buffer
  kLength,      ///< a step has another count
  kOrder,       ///< two messages of one direction with one peer change places
  kDependency,  ///< a step does not wait for one of those that it waited for
  kBuffer,      ///< a step reads or writes another buffer
};
inline constexpr MutationClass kMutationClasses[] = {
    MutationClass::kDropped, MutationClass::kDoubled,    MutationClass::kMoved,
    MutationClass::kPeer,    MutationClass::kOffset,     MutationClass::kLength,
    MutationClass::kOrder,   MutationClass::kDependency, MutationClass::kBuffer};

std::string_view name(MutationClass what);

/// Changes the plans, and says how in words; nothing where they offer no place for such a fault.
std::optional<std::string> mutate(std::vector<Plan>& plans, MutationClass what, Random& random);

}  // namespace paceline::testing
