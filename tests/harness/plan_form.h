// Plans to compare: what they are asked for, and whether they differ in appearance only.
#pragma once

#include <span>
#include <vector>

#include "collectives/plan/cost.h"
#include "collectives/plan/plan.h"

namespace paceline::testing {

/// Whether the step sends or receives.
bool is_message(const Step& step);

/// What to ask for so that the longest array of a call has about `count` elements.
std::size_t count_of_call(const PlanRequest& request, std::size_t count);
/// The requests of all ranks. Where the kind has counts, they differ, are about request.count, and
/// some are 0.
std::vector<PlanRequest> uneven_requests(const PlanRequest& request);

/// Does the formula of an operation say what its plans cost? Blocks that are empty may spare rounds
/// that it counts, and of all_to_all_v nobody knows what all send.
bool is_price(const Cost& formula, const Cost& measured, OperationKind kind);

/// Are the plans the same but for the place of steps in the list and for dependencies that make no
/// difference: on every rank the same steps, the same k-th message per direction and peer, and the
/// same order, by chains of dependencies, of every two steps that conflict or are both messages?
/// Such plans compute the same. Compares all pairs of steps of a rank: for plans of up to some
/// thousand steps.
bool same_form(std::span<const Plan> a, std::span<const Plan> b);

}  // namespace paceline::testing
