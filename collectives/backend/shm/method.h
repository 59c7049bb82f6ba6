// By which method the direct shared-memory backend carries an operation out, and why: a pure choice
// from what all ranks know alike.
//
//   eager      each rank leaves its contribution with its flag, in the flag's cache line if that
//              holds it and in a post if not, and reads those of all others
//   gathered   the last to arrive reads all, and leaves the one result for the others
//   pipelined  chunks in flight through the segment (pipeline.h)
//   zero_copy  each rank works straight in the arrays of all, which lie in buffers (direct.h)
//
// Where the arrays of all ranks lie is known once they have met: a Way says what follows from it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include <paceline/types.h>

#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "comm/base/environment.h"

namespace paceline::shm {

using Method = ShmMethod;

/// Up to where operations of a kind go one way, and not the next. Of contributions.
enum class Limit : std::uint8_t {
  kOrdinary,  ///< eager or gathered, where not all arrays lie in buffers
  kBuffers,   ///< the same where all do; where ranks share CPUs it is kOrdinary's
  kStaged,    ///< pipelined wherever they lie, where ranks share CPUs
};
inline constexpr std::size_t kLimits = 3;

/// In bytes, by Limit, as measured on this machine between as many ranks; none: it was not.
using MeasuredLimits = std::array<std::optional<std::size_t>, kLimits>;
/// By kind.
using MeasuredSizes = std::array<MeasuredLimits, std::size(kOperationKinds)>;

/// What the choice depends on besides the operation. The same on every rank of a communicator.
struct MethodTerms {
  int ranks = 2;
  bool shares_cpus = false;     ///< there are more ranks than CPUs
  bool has_buffers = false;     ///< ranks reach each other's
  std::size_t post_bytes = 0;   ///< what a post holds
  std::size_t chunk_bytes = 0;  ///< what a chunk holds
  /// Instead of the fastest. What it cannot carry goes as by default: more bytes than a post holds
  /// (kEager, kGathered), more than one result (kGathered), nothing at all, as a barrier does
  /// (kPipelined, kZeroCopy). Where not all arrays lie in buffers, what was to be kZeroCopy is
  /// kPipelined, however short.
  std::optional<Method> forced{};
  MeasuredSizes measured{};  ///< else this version's own sizes hold (tuning.h)
};

/// How operations with contributions of up to so many bytes go.
struct Way {
  std::size_t most_bytes = SIZE_MAX;
  Method ordinary = Method::kEager;    ///< where the arrays of no rank lie in buffers
  Method in_buffers = Method::kEager;  ///< where all do; where some do, it is kPipelined at worst
  std::string_view why = {};           ///< of `ordinary`: "ranks share CPUs, and …"; static

  /// Do contributions go in one piece each, where they lie in no buffers?
  bool posts() const { return ordinary == Method::kEager || ordinary == Method::kGathered; }
  /// The same wherever they lie?
  bool is_short() const { return posts() && in_buffers == ordinary; }

  bool operator==(const Way&) const = default;
};

/// How the operations of a kind go.
struct Choice {
  static constexpr std::size_t kMostWays = 3;
  /// From the shortest to the longest; the first is short, and the last is the first without a
  /// limit.
  std::array<Way, kMostWays> ways;
  Flow flow = Flow::kShared;  ///< how what is contributed becomes results
  /// Between buffers, where all meet: each piece is made for all ranks, once.
  bool for_all = true;

  const Way& way(std::size_t bytes) const {
    std::size_t at = 0;
    while (bytes > ways[at].most_bytes) ++at;
    return ways[at];
  }

  bool operator==(const Choice&) const = default;
};

Choice choose(OperationKind kind, const MethodTerms& terms);
/// Is Limit::kStaged above 0, by whatever is measured?
bool may_stage(OperationKind kind, const MethodTerms& terms);
/// May any operation be carried out in buffers?
bool uses_buffers(const MethodTerms& terms);
/// How what is contributed becomes results.
Flow flow_of(OperationKind kind);

/// Of an operation that goes so, in so many chunks. `digest`: of what was called before and now.
/// The root of a long broadcast that goes straight between buffers makes a part of it within the
/// CPUs, and has to wait for the others anyway: 2 ranks, to where it was left to these, 64 KiB 0.73
/// of the time, 512 KiB 0.54, 2 MiB 0.32; in ordinary memory 0.95 to 1.0. Where ranks share CPUs
/// that takes up to 3 times as long (8 ranks, 256 KiB): what can be staged as a whole goes on at
/// once, and its root alone is awaited.
inline Form form_of(const Choice& choice, const Way& way, int root, std::uint64_t chunks,
                    std::uint32_t digest, bool shares_cpus) {
  const bool everybody = choice.flow != Flow::kFromRoot || chunks > (shares_cpus ? kChunks : 0);
  const bool gathers = chunks > 0 ? shares_cpus : way.ordinary == Method::kGathered;
  return {.everybody = everybody,
          .root = std::max(root, 0),
          .chunks = chunks,
          .digest = digest,
          .gathered = everybody && gathers,
          .flow = choice.flow,
          .for_all = everybody && choice.for_all};
}

}  // namespace paceline::shm
