// Which gradients travel together, and in which order: a pure function of when they become ready
// and of what the path takes.
//
// The wire is one: an operation of b bytes occupies it for alpha + beta × b, and begins when the
// one before has ended and its gradients are ready; on most paths alpha passes while the one before
// is still on its way. Whenever the wire is free the next bucket takes of what is ready what the
// next forward needs first, up to a quantum: so urgent gradients overtake others (ByteScheduler),
// which are cut. What becomes ready within alpha of a bucket that is not full is waited for: an
// operation of its own would take longer (MG-WFBP). The quantum is the smallest one with which the
// last bucket ends as early as with any, as near as makes no matter.
//
// A bucket is one span of the arena, or copied. Backward makes gradients from the arena's end to
// its beginning: whoever takes the newest at once cuts what comes after them from what came before,
// and is left with small pieces, each an operation in which the wire idles. So gradients that
// adjoin others which are still to come wait until they are a bucket, as long as there are more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace paceline {

/// What an operation of a path takes.
struct PathCost {
  double alpha_us = 0;
  double beta_us = 0;  ///< for each byte
  /// What an operation sends follows what the one before has sent, before that has ended.
  bool overlaps = false;

  double of(std::size_t bytes) const { return alpha_us + beta_us * static_cast<double>(bytes); }
  /// Right behind another one.
  double behind(std::size_t bytes) const {
    return overlaps ? std::max(alpha_us, beta_us * static_cast<double>(bytes)) : of(bytes);
  }
  bool operator==(const PathCost&) const = default;
};

/// A gradient, in the order of the parameters, which is that of the next forward.
struct GradientTime {
  std::size_t begin = 0;  ///< in the arena, bytes; of one type ascending, without overlap
  std::size_t bytes = 0;  ///< with what pads it up to the next one
  int type = 0;           ///< a bucket has gradients of one type
  double ready_us = 0;    ///< since the step began
  /// It is cut between its rows where these are short beside a bucket; 0: anywhere.
  std::size_t row_bytes = 0;
};

/// A part of the arena.
struct ByteSpan {
  std::size_t begin = 0, bytes = 0;

  std::size_t end() const { return begin + bytes; }
  bool operator==(const ByteSpan&) const = default;
};

/// What travels in one operation.
struct Bucket {
  std::vector<ByteSpan> spans;         ///< ascending, apart; one, or several small ones
  std::vector<std::size_t> gradients;  ///< places of those that it has a part of; ascending
  double ready_us = 0;                 ///< when the last of them is

  std::size_t bytes() const;
  bool operator==(const Bucket&) const = default;
};

struct Schedule {
  std::vector<Bucket> buckets;  ///< in the order in which they travel
  PathCost path;
  double end_us = 0;  ///< when the last one would have ended

  bool operator==(const Schedule&) const = default;
};

struct ScheduleRules {
  std::size_t least_quantum_bytes = 256 << 10;  ///< nothing is cut into pieces below half
  std::size_t most_quantum_bytes = 32 << 20;    ///< no bucket is larger
  std::size_t together_bytes = 256 << 10;  ///< of several spans, which are copied: at most so many
  /// What has been ready for so long when the wire gets free goes before what has just become
  /// ready, as long as it fills a bucket: nobody waits for a rank that is a little later than
  /// usual.
  double ahead_us = 0;
};

/// Each gradient's bytes are in one bucket each. Gradients without bytes are in none.
Schedule make_schedule(std::span<const GradientTime> gradients, const PathCost& path,
                       const ScheduleRules& rules = {});

/// Without measurements: full buckets in the order in which gradients become ready, of equal times
/// the last one first, as backward goes. Of the rules it keeps `together_bytes`.
Schedule fill_schedule(std::span<const GradientTime> gradients, std::size_t bucket_bytes,
                       const PathCost& path = {}, const ScheduleRules& rules = {});

/// When the last bucket ends if each begins as soon as the one before has ended and it is ready.
double end_of(std::span<const Bucket> buckets, const PathCost& path);

/// The earliest end that any schedule could have: the most, over all moments, of the moment plus
/// what an operation of all bytes takes that become ready then or later.
double least_end(std::span<const GradientTime> gradients, const PathCost& path);

}  // namespace paceline
