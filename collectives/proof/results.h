// Proof that plans compute what they are for, by executing them once on symbolic values.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/plan/matching.h"
#include "collectives/plan/plan.h"

namespace paceline {

/// Are input and output two buffers or one?
enum class Placement : std::uint8_t { kOutOfPlace, kInPlace };
/// In which order may contributions be reduced?
enum class Order : std::uint8_t { kAny, kOfRanks };

/// Every output element is what shape.h says: one rank's input element, or an expression that holds
/// each rank's input element once and nothing else; of an all-reduce the same expression on all
/// ranks. No step reads what nothing has written. `order` is a legal order of ends;
/// in plans without races any one stands for all (check.h).
Status check_values(std::span<const Plan> plans, const std::vector<PlanRequest>& requests,
                    const Partners& partners, std::span<const StepRef> order, Placement placement,
                    Order contributions = Order::kAny);

/// Barrier: no rank ends before every rank has begun, as far as messages and dependencies tell.
Status check_barrier(std::span<const Plan> plans, const Partners& partners,
                     std::span<const StepRef> order);

}  // namespace paceline
