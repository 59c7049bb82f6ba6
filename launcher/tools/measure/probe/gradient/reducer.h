// Who averages the gradients of a replay over all ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <paceline/communicator.h>
#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/gradient/gradient_orders.h"
#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::probe {

/// One thread. Every call is collective.
class Reducer {
 public:
  virtual ~Reducer() = default;
  /// Where backward writes it, and where its average is after wait().
  virtual std::span<float> gradient(std::size_t tensor) = 0;
  /// Backward has written it.
  virtual Status ready(std::size_t tensor) = 0;
  /// Returns when all of them are averages.
  virtual Status wait() = 0;
  /// So far: CPU time of its own, beside that of operations.
  virtual Duration own_cpu() const { return {}; }
  /// So far, of this rank; 0 where it does not count them.
  virtual std::uint64_t bytes_sent() const { return 0; }
};

/// As the orders name it; `world` and `trace` are borrowed. Code::kInvalidArgument where there is
/// no such one.
Result<std::unique_ptr<Reducer>> make_reducer(Communicator& world, const Trace& trace,
                                              const GradientOrders& orders);

// The table, a file for each.

/// One operation on all of them, after backward: no overlap.
Result<std::unique_ptr<Reducer>> make_whole_reducer(Communicator& world, const Trace& trace,
                                                    const GradientOrders& orders);
/// GradientPipeline.
Result<std::unique_ptr<Reducer>> make_pipeline_reducer(Communicator& world, const Trace& trace,
                                                       const GradientOrders& orders);

}  // namespace paceline::probe
