// Proof that plans compute what they are for, by executing them once on symbolic values.
#pragma once

#include <cstdint>
#include <span>

#include <paceline/status.h>

#include "collectives/plan/plan.h"
#include "collectives/proof/matching.h"

namespace paceline {

/// Are input and output two buffers or one?
enum class Placement : std::uint8_t { kOutOfPlace, kInPlace };

/// All-reduce: every output element is an expression that holds each rank's element of the same
/// index exactly once, and the same expression on all ranks. Broadcast: it is the root's element
/// of the same index. No step reads what nothing has written. `order` is a legal order of ends;
/// in plans without races any one stands for all (check.h).
Status check_values(std::span<const Plan> plans, const PlanRequest& request,
                    const Partners& partners, std::span<const StepRef> order, Placement placement);

/// Barrier: no rank ends before every rank has begun, as far as messages and dependencies tell.
Status check_barrier(std::span<const Plan> plans, const Partners& partners,
                     std::span<const StepRef> order);

}  // namespace paceline
