// By which method the direct shared-memory backend carries an operation out: a pure choice from
// what all ranks know alike.
//
//   eager      each rank leaves its contribution with its flag, in the flag's cache line if that
//              holds it and in a post if not, and reads those of all others
//   gathered   the last to arrive reads all, and leaves the one result for the others
//   pipelined  chunks in flight through the segment (pipeline.h)
//   zero_copy  each rank works straight in the arrays of all, which lie in buffers (direct.h)
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include <paceline/types.h>

#include "collectives/backend/shm/form.h"
#include "collectives/backend/shm/layout.h"
#include "comm/base/environment.h"

namespace paceline::shm {

using Method = ShmMethod;

/// Of a contribution.
struct MostShort {
  std::size_t bytes = 0;
  /// The same where the last ones had all arrays in buffers (buffer_habit.h).
  std::size_t bytes_beside_buffers = 0;

  bool operator==(const MostShort&) const = default;
};

/// What was measured on this machine between as many ranks; none: it was not.
struct MeasuredSize {
  std::optional<MostShort> most_short;
  std::optional<std::size_t> most_staged;

  bool operator==(const MeasuredSize&) const = default;
};

/// By kind.
using MeasuredSizes = std::array<MeasuredSize, std::size(kOperationKinds)>;

/// What the choice depends on besides the operation. The same on every rank of a communicator.
struct MethodTerms {
  int ranks = 2;
  int cpus = 1;                 ///< of all ranks together
  bool shares_cpus = false;     ///< there are more ranks than CPUs
  bool has_buffers = false;     ///< ranks reach each other's
  std::size_t post_bytes = 0;   ///< what a post holds
  std::size_t chunk_bytes = 0;  ///< what a chunk holds
  /// Instead of the fastest. What it cannot carry goes as by default: more bytes than a post holds
  /// (kEager, kGathered), more than one result (kGathered), nothing at all, as a barrier does
  /// (kPipelined, kZeroCopy). Whether all arrays lie in buffers is known once the ranks have met:
  /// where they do not, what was to be kZeroCopy is kPipelined, however short.
  std::optional<Method> forced{};
  MeasuredSizes measured{};  ///< else this version's own sizes hold (tuning.h)
};

/// How the operations of a kind go.
struct MethodChoice {
  Method of_short = Method::kEager;
  MostShort most_short;
  /// Longer contributions of up to so many bytes are pipelined wherever their arrays lie.
  std::size_t most_staged = 0;
  /// Of those beyond, where all arrays lie in buffers; elsewhere they are pipelined.
  Method of_long = Method::kPipelined;
  Flow flow = Flow::kShared;  ///< how what is contributed becomes results
  /// Where all ranks meet and work straight between buffers: Form::for_all, and Form::claimed.
  bool for_all = true;
  bool claims = false;

  bool operator==(const MethodChoice&) const = default;
};

/// Do ranks that have time claim pieces of long results? Else each makes its part.
bool claims(const MethodTerms& terms);
MethodChoice choose(OperationKind kind, const MethodTerms& terms);
/// Of an operation with contributions of so many bytes, all of whose arrays lie in buffers, as
/// those of the last ones did, or do not.
Method method_of(const MethodChoice& choice, std::size_t bytes, bool in_buffers);
/// May contributions in buffers be pipelined all the same, so that their ranks meet once less?
bool may_stage(OperationKind kind, const MethodTerms& terms);
/// May any operation be carried out in buffers?
bool uses_buffers(const MethodTerms& terms);
/// How what is contributed becomes results.
Flow flow_of(OperationKind kind);

/// Do all ranks meet before an operation of so many chunks goes on? Else its root alone is awaited.
/// Within the CPUs the root of a long broadcast makes a part of it where all arrays lie in buffers,
/// and has to wait for the others anyway: 2 ranks, to where it was left to these, 64 KiB 0.73 of
/// the time, 512 KiB 0.54, 2 MiB 0.32; in ordinary memory 0.95 to 1.0. Where ranks share CPUs that
/// takes up to 3 times as long (8 ranks, 256 KiB): what can be staged as a whole goes on at once.
inline bool meets_all(Flow flow, std::uint64_t chunks, bool shares_cpus) {
  return flow != Flow::kFromRoot || chunks > (shares_cpus ? kChunks : 0);
}

/// Of an operation that goes so, in so many chunks. `digest`: of what was called before and now.
inline Form form_of(const MethodChoice& choice, int root, std::uint64_t chunks,
                    std::uint32_t digest, bool shares_cpus) {
  const bool everybody = meets_all(choice.flow, chunks, shares_cpus);
  const bool gathers = chunks > 0 ? shares_cpus : choice.of_short == Method::kGathered;
  return {.everybody = everybody,
          .root = std::max(root, 0),
          .chunks = chunks,
          .digest = digest,
          .gathered = everybody && gathers,
          .flow = choice.flow,
          .for_all = everybody && choice.for_all,
          .claimed = everybody && chunks > 0 && choice.claims};
}

}  // namespace paceline::shm
