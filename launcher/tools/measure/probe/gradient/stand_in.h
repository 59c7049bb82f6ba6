// Computing that computes nothing: it takes the time of a layer, as on a GPU or as on this core.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/base/clock.h"
#include "launcher/tools/measure/probe/gradient/gradient_orders.h"

namespace paceline::probe {

/// One thread.
class StandIn {
 public:
  virtual ~StandIn() = default;
  /// A step begins now.
  virtual void begin() = 0;
  /// The next layer's, so long. Returns when it would be done.
  virtual void compute(double us) = 0;
};

/// `clock`, which is the system's, is borrowed. Sleeping goes to moments that are counted from the
/// begin of the step, so that a late awakening does not delay the next one, as a GPU's kernels are
/// not. Burning does a fixed amount of work: a core that somebody else takes makes it longer.
std::unique_ptr<StandIn> make_stand_in(const GradientOrders& orders, const Clock& clock);

/// How many rounds a core burns in a microsecond while it has nothing else to do: the most of some
/// short trials.
double calibrate_burning(const Clock& clock);

}  // namespace paceline::probe
