#include "launcher/tools/measure/probe/loop/in_parts.h"

#include <algorithm>
#include <array>

#include "comm/base/try.h"

namespace paceline::probe {
namespace {

Status reduce_and_broadcast(Subject& whole, const Call& call) {
  Call reduce = call;
  reduce.kind = OperationKind::kReduce;
  reduce.root = 0;
  PACELINE_TRY(whole.call(reduce));
  return whole.broadcast({call.out, call.count, call.type}, 0);
}

// Each rank's block of the result is made where it belongs.
Status reduce_scatter_and_all_gather(Subject& whole, const Call& call) {
  const auto ranks = static_cast<std::size_t>(whole.size());
  if (call.count % ranks != 0)
    return not_measured(std::to_string(call.count) + " elements cannot be divided equally among " +
                        std::to_string(ranks) + " ranks");
  const std::size_t block = call.count / ranks;
  const auto own = static_cast<std::size_t>(whole.rank()) * block * size_of(call.type);
  Call scatter = call;
  scatter.kind = OperationKind::kReduceScatter;
  scatter.out = static_cast<std::byte*>(call.out) + own;
  scatter.count = block;
  PACELINE_TRY(whole.call(scatter));
  Call gather = scatter;
  gather.kind = OperationKind::kAllGather;
  gather.in = scatter.out;
  gather.out = call.out;
  return whole.call(gather);
}

constexpr std::array<std::string_view, 2> kNames{"reduce+broadcast", "reduce_scatter+all_gather"};
constexpr std::array<InParts::Parts, 2> kParts{reduce_and_broadcast, reduce_scatter_and_all_gather};

}  // namespace

std::span<const std::string_view> InParts::names() { return kNames; }

InParts::Parts InParts::find(std::string_view name) {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  return found != kNames.end() ? kParts[static_cast<std::size_t>(found - kNames.begin())] : nullptr;
}

}  // namespace paceline::probe
