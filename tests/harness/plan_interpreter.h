// Executes plans on numbers, in orders that are as unkind as the rules allow: an oracle for the
// checker that shares nothing with it but plan.h and shape.h.
//
// Every step begins and ends at moments of its own, chosen by the seed among all that may happen
// next on any rank. What a step writes is garbage from its begin to its end, what a send or a
// local step reads is read at its begin or at its end. Inputs are random 64-bit words and op is
// addition, so that a wrong result is right by chance once in 2^64.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectives/plan/plan.h"
#include "comm/base/random.h"

namespace paceline::testing {

struct Schedule {
  bool in_place = false;
  bool synchronous_sends = false;  ///< a send ends only when its recv has begun
  bool messages_overlap = false;   ///< a message begins when the one before has begun, not ended
};

/// Runs the plans of an operation with elements once; nothing if every output is right, else
/// what went wrong.
std::optional<std::string> run_plans(std::span<const Plan> plans,
                                     const std::vector<PlanRequest>& requests,
                                     const Schedule& schedule, Random random);

/// For each rank: keeps it from beginning and lets all others do what they can. Nothing if none of
/// them ends; or, after all have begun, if all do.
std::optional<std::string> run_barrier(std::span<const Plan> plans, const Schedule& schedule,
                                       Random random);

/// `runs` executions, each with another schedule, of whatever operation it is.
std::optional<std::string> run_often(std::span<const Plan> plans,
                                     const std::vector<PlanRequest>& requests, int runs,
                                     Random random);

}  // namespace paceline::testing
