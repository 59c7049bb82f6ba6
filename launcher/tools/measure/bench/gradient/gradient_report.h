// What `paceline bench gradient` prints: a table, and lines of JSON. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "launcher/tools/measure/probe/gradient/gradient_orders.h"
#include "launcher/tools/measure/probe/gradient/gradient_rows.h"
#include "launcher/tools/measure/probe/gradient/timeline.h"
#include "launcher/tools/measure/probe/gradient/trace.h"

namespace paceline::launcher {

/// What all contenders of a run have in common.
struct GradientTitle {
  const probe::Trace& trace;  ///< as it was replayed
  probe::GradientOrders orders;
  int ranks = 2;
  probe::WireRate wire;                ///< at its best, before the first turn
  std::vector<probe::WireRate> wires;  ///< turn by turn
};

/// One contender's job.
struct GradientSeries {
  std::string name;
  std::string codec;
  probe::GradientJob job;

  /// Of each turn.
  std::vector<probe::StepRow> medians() const;
  /// Of its averages; the largest that there is where nobody has looked.
  double error() const;
};

/// The middle of some turns, and the worse end of most of them.
struct Spread {
  double median = 0;
  double tenth = 0;  ///< the 10th percentile

  bool operator==(const Spread&) const = default;
};

/// How many times as long `theirs` took, turn by turn.
struct GradientRatio {
  Spread step, exposed;
};
GradientRatio compare(const GradientSeries& theirs, const GradientSeries& ours);

/// The bound over what was exposed, turn by turn: 1 is the best that can be.
struct OfBound {
  Spread bytes, with_latency;
  /// With the latency, by the wire as it was in that round: what is missing in the others and not
  /// here has been lost by whatever disturbed them all.
  Spread in_turn;
};
OfBound of_bound(const GradientTitle& title, const GradientSeries& series);

/// Ours first.
std::string gradient_table(const GradientTitle& title, std::span<const GradientSeries> series);
/// A line for each contender, then one for each comparison; without newlines.
std::vector<std::string> gradient_json(const GradientTitle& title,
                                       std::span<const GradientSeries> series);

}  // namespace paceline::launcher
