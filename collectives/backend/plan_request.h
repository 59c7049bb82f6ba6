// The plan request of an operation request, for those that ask plan/shape.h about its buffers.
#pragma once

#include "collectives/backend/backend.h"
#include "collectives/plan/shape.h"

namespace paceline {

/// Copies the counts of this many ranks, where the request has them.
inline PlanRequest plan_request(const OperationRequest& request, int rank, int ranks) {
  const Signature& signature = request.signature;
  PlanRequest made{.kind = signature.kind,
                   .rank = rank,
                   .ranks = ranks,
                   .root = signature.root,
                   .count = static_cast<std::size_t>(signature.count)};
  if (request.counts != nullptr) made.counts.assign(request.counts, request.counts + ranks);
  if (request.recv_counts != nullptr)
    made.recv_counts.assign(request.recv_counts, request.recv_counts + ranks);
  return made;
}

}  // namespace paceline
