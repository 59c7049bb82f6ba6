#include "launcher/tools/report/operation_speed.h"

#include "launcher/tools/measure/probe/loop/operation.h"

namespace paceline::launcher {

// The bytes of an exchange are a number of messages (comm/base/signature.h). Operations with counts
// of their own for each rank state the bytes of all.
std::optional<OperationSpeed> speed_of(const OperationSummary& operation) {
  const bool has_bytes = operation.kind != OperationKind::kExchange && operation.bytes > 0;
  if (!has_bytes || operation.count == 0 || operation.seconds <= 0 || operation.ranks < 1)
    return std::nullopt;
  const probe::Operation* const known = probe::find_operation(name(operation.kind));
  const auto blocks = known ? static_cast<double>(known->blocks(operation.ranks)) : 1.0;
  const double bytes = blocks * static_cast<double>(operation.bytes);
  OperationSpeed speed{.bytes = bytes / static_cast<double>(operation.count),
                       .algbw_gbps = bytes / operation.seconds / 1e9,
                       .busbw_gbps = {}};
  if (known && operation.ranks > 1)
    speed.busbw_gbps = speed.algbw_gbps * known->bus_factor(operation.ranks);
  return speed;
}

}  // namespace paceline::launcher
