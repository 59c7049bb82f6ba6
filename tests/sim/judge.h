// What was wrong with an outcome, by the contract alone: pure functions, which know nothing of how
// the library comes to its results.
#pragma once

#include <string>

#include "tests/sim/outcome.h"
#include "tests/sim/scenario.h"

namespace paceline::testing {

/// How long after its deadline an operation may end, and what leaving may take; see Outcome::slack.
inline constexpr Duration kGrace = std::chrono::seconds(1);

/// For scenarios without deviations. Every call of every rank that was not lost
///   - ends within its deadline and kGrace, right or with an error;
///   - if it is right, ended after all ranks had begun it (barrier and close());
///   - if it is an error, is Code::kPeerLost or kTimeout and names a rank that was lost, or that is
///     on the other side of a partition, with its host and the operation of some rank that was in
///     progress; without such a cause there is none;
///   - does not wait for its deadline where all faults are lost ranks, which are seen;
///   - after an error, ends with the same error.
/// The first thing that is wrong, or nothing.
std::string judge_schedule(const Scenario& scenario, const Outcome& outcome);

/// For scenarios in which some ranks deviate, without faults. Every call of every rank
///   - is right, or fails with Code::kMismatch, and quotes a rank of either side, one of them its
///     culprit, with a call that it made; calls before the deviation may too, if the error
///     overtakes them;
///   - fails from the first call on that waits for all others and in which, or before which, some
///     deviated: an all_reduce with elements, a barrier, or close(), which thus never succeeds;
///   - after an error, ends with the same error;
///   - ends before its deadline.
std::string judge_disagreement(const Scenario& scenario, const Outcome& outcome);

}  // namespace paceline::testing
