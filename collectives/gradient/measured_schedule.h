// When the buckets of a pipeline are decided anew, and from what: the ready times of the steps
// since it was asked last, and what the path took. Pure; who asks agrees with the other ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <paceline/gradient_pipeline.h>

#include "collectives/gradient/arena.h"
#include "collectives/gradient/readiness.h"
#include "collectives/gradient/schedule.h"

namespace paceline {

class MeasuredSchedule {
 public:
  /// The arena is borrowed.
  MeasuredSchedule(const GradientArena& arena, std::span<const Parameter> parameters,
                   const GradientOptions& options);

  /// Without measurements, in the reverse order of the parameters, but the frozen ones. What is
  /// coded lies in one piece: then only small buckets have several, and none where a codec is
  /// forced.
  Schedule first(const std::vector<bool>& is_frozen, bool is_coded) const;

  /// A step has been reduced. The first one is left out: memory was new.
  void add_step(const Readiness& readiness);
  /// After this many steps it should be decided anew: soon at first, then ever more seldom.
  static bool is_due(std::uint64_t steps);

  /// What all ranks add up: the mean ready time of each gradient. Forgets the steps.
  std::vector<double> tell();
  /// What tell() has told, summed over so many ranks.
  void hear(std::span<const double> told, int ranks);
  /// From what was heard: the same on all ranks.
  Schedule decide(const PathCost& path, const std::vector<bool>& is_frozen, bool is_coded) const;

 private:
  std::vector<GradientTime> times(const std::vector<bool>& is_frozen) const;
  ScheduleRules rules(bool is_coded, const PathCost& path = {}) const;

  const GradientArena& arena_;
  const std::size_t bucket_bytes_, coded_together_bytes_;
  std::vector<int> types_;
  std::vector<double> sums_us_, heard_us_;
  int ranks_ = 1;
  std::uint64_t steps_ = 0;  // that are summed up
  bool has_begun_ = false;
};

/// A digest of what a rank sends in a step.
std::uint64_t digest_of(const Schedule& schedule, std::span<const Codec> codecs,
                        const std::vector<bool>& is_frozen, double loss_scale);

}  // namespace paceline
