#include "collectives/backend/shm/method.h"

#include <algorithm>

namespace paceline::shm {
namespace {

// Of all contributions together, where each rank reads all: the more ranks, the sooner it is better
// to divide the work.
constexpr std::size_t kMostRead = std::size_t{64} << 10;

bool may_gather(OperationKind kind) { return flow_of(kind) == Flow::kShared; }

MethodChoice fastest(OperationKind kind, const MethodTerms& terms) {
  const Method of_long = uses_buffers(terms) ? Method::kZeroCopy : Method::kPipelined;
  if (terms.shares_cpus && may_gather(kind))
    return {
        .of_short = Method::kGathered, .most_short_bytes = terms.post_bytes, .of_long = of_long};
  return {.of_short = Method::kEager,
          .most_short_bytes =
              std::min(terms.post_bytes, kMostRead / static_cast<std::size_t>(terms.ranks)),
          .of_long = of_long};
}

}  // namespace

Flow flow_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::kAllReduce:
    case OperationKind::kBarrier:
    case OperationKind::kClose:
      return Flow::kShared;
    case OperationKind::kBroadcast:
      return Flow::kFromRoot;
    default:
      return Flow::kToEach;
  }
}

bool uses_buffers(const MethodTerms& terms) {
  return terms.has_buffers && terms.forced != Method::kPipelined;
}

MethodChoice choose(OperationKind kind, const MethodTerms& terms) {
  MethodChoice choice = fastest(kind, terms);
  // How a communicator is closed is nobody's to tune.
  if (!terms.forced || kind == OperationKind::kClose) return choice;
  switch (*terms.forced) {
    case Method::kEager:
      choice.of_short = Method::kEager;
      choice.most_short_bytes = terms.post_bytes;
      break;
    case Method::kGathered:
      if (!may_gather(kind)) break;
      choice.of_short = Method::kGathered;
      choice.most_short_bytes = terms.post_bytes;
      break;
    case Method::kZeroCopy:
      if (!terms.has_buffers) break;
      [[fallthrough]];
    case Method::kPipelined:
      choice.most_short_bytes = 0;
      break;
  }
  return choice;
}

Method method_of(const MethodChoice& choice, std::size_t bytes, bool in_buffers) {
  if (bytes <= choice.most_short_bytes) return choice.of_short;
  return in_buffers ? choice.of_long : Method::kPipelined;
}

}  // namespace paceline::shm
