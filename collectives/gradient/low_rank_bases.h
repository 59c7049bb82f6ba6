// The matrices that PowerSGD makes of gradients, and the basis from which the next reduction of
// each starts.
//
// A gradient is a matrix with its own number of columns, or nearly square if that is unknown. A
// bucket contains whole gradients and parts of others. Each part is a matrix with the columns of
// its gradient, and has its own basis. When buckets change, a part takes over the basis of the old
// part with which it has the most elements in common. A basis depends on columns only, so it fits
// any rows of the gradient. Pure.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/gradient/arena.h"
#include "collectives/gradient/codecs/power_sgd.h"
#include "collectives/gradient/schedule.h"
#include "comm/bytes.h"

namespace paceline {

/// Elements of one gradient that travel in one bucket.
struct LowRankPart {
  std::size_t begin = 0;  ///< element of the arena
  MatrixShape shape;      ///< where that does not pay they travel as they are

  std::size_t end() const { return begin + shape.count; }
  bool operator==(const LowRankPart&) const = default;
};

/// Equal on all ranks, because it depends only on reduced values.
class LowRankBases {
 public:
  /// The arena is borrowed. It has float32 gradients if any basis is asked for.
  LowRankBases(const GradientArena& arena, std::size_t most_rank)
      : arena_(arena), most_rank_(most_rank) {}

  /// What lies in the bucket, without the zeros between gradients.
  std::vector<LowRankPart> parts_of(const Bucket& bucket) const;

  /// Sets the parts for which of() is called from now on. Bases of elements that belong to no part
  /// are kept.
  void set_parts(std::span<const LowRankPart> parts);
  /// The basis of one of these parts. A step may change it. Borrowed until the next set_parts().
  std::span<float> of(const LowRankPart& part) { return bases_.at(part.begin).floats; }
  /// Call it if the step counts: the next step starts from the bases of this one.
  void commit();
  /// Call it if the step does not count: the next step starts from the same bases as this one.
  void roll_back();
  /// A part without a basis starts from this seed, which is equal on all ranks.
  static std::uint64_t seed_of(const LowRankPart& part) { return part.begin * sizeof(float); }

  /// Appends the bases of counted steps. Another thread may change the values of of() meanwhile.
  void save(Bytes& into) const;
  /// Restores what save() has written, for a pipeline of the same gradients. After an error nothing
  /// has changed.
  Status load(ByteView saved);

 private:
  struct Basis {
    MatrixShape shape;
    std::vector<float> floats;     // of the current step
    std::vector<float> committed;  // of counted steps
  };
  using Bases = std::map<std::size_t, Basis>;  // by first element; apart

  LowRankPart part_at(std::size_t gradient, const ByteSpan& span) const;
  Result<Bases> parse(ByteView saved) const;
  static Bases::const_iterator first_common(const Bases& bases, std::size_t begin, std::size_t end);
  static void begin_from(const Bases& old, const LowRankPart& part, std::vector<float>& basis);
  static void keep_others(Bases& old, Bases& bases);

  const GradientArena& arena_;
  const std::size_t most_rank_;
  Bases bases_;
};

}  // namespace paceline
