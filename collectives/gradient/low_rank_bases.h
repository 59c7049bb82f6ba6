// Which matrices PowerSGD makes of gradients, and where its next reduction of each begins.
//
// A gradient is a matrix of its own columns, or nearly square where these are unknown. A bucket has
// whole gradients and parts of others: each part is a matrix of the gradient's columns, and has a
// basis of its own. When buckets change, a part goes on from the basis of what it has most elements
// in common with: a basis is of columns, and fits any rows of the gradient. Pure.
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

/// The same on all ranks, as it follows from what has been reduced.
class LowRankBases {
 public:
  /// The arena is borrowed, and has float32 where anything is asked for.
  LowRankBases(const GradientArena& arena, std::size_t most_rank)
      : arena_(arena), most_rank_(most_rank) {}

  /// What lies in the bucket, without the zeros between gradients.
  std::vector<LowRankPart> parts_of(const Bucket& bucket) const;

  /// These parts' are asked for from now on. Those of elements that are in none of them are kept.
  void set_parts(std::span<const LowRankPart> parts);
  /// One of these, which a step may change; borrowed until the next set_parts().
  std::span<float> of(const LowRankPart& part) { return bases_.at(part.begin).floats; }
  /// The step counts: the next one begins where it has ended.
  void commit();
  /// The step does not count: the next one begins where this one began.
  void roll_back();
  /// Of parts that have none of these, all begin alike.
  static std::uint64_t seed_of(const LowRankPart& part) { return part.begin * sizeof(float); }

  /// What the steps that counted have left, also while another thread changes what of() has.
  void save(Bytes& into) const;
  /// What save() has written, for a pipeline of the same gradients; else nothing changes.
  Status load(ByteView saved);

 private:
  struct Basis {
    MatrixShape shape;
    std::vector<float> floats;     // of the step under way
    std::vector<float> committed;  // of the steps that counted
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
