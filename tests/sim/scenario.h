// A scenario: everything that decides what a world of ranks does and what befalls it, as a plain
// value. The same scenario takes the same steps in every run of the simulation.
//
//   Scenario scenario = generate(7, {});
//   Outcome outcome = run_simulated(scenario, threads);          // tests/sim/simulated_run.h
//   std::string wrong = judge_schedule(scenario, outcome);       // tests/sim/judge.h
//
// Vocabulary, used by every file here:
//   call       one operation as a rank calls it; every rank ends with close(), which is not listed.
//              An asynchronous one is waited for when all calls have been made
//   deviation  what some ranks do instead of a call that the others make
//   fault      what befalls the world at a step of the schedule
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <paceline/types.h>

#include "comm/base/random.h"
#include "tests/harness/calls.h"

namespace paceline::testing {

struct Deviation {
  enum class Kind { kReplace, kSkip, kSwap };
  std::vector<int> ranks;  ///< ascending
  std::size_t index = 0;   ///< of the call; kSwap: this one and the next change places
  Kind kind = Kind::kSkip;
  Call call{};  ///< kReplace: made instead

  bool operator==(const Deviation&) const = default;
};

struct Fault {
  enum class Kind {
    kLoss,
    kCut,   ///< from the other ranks
    kStop,  ///< their processes are stopped, and go on
    kSlow,  ///< messages from and to them take longer
  };
  Kind kind = Kind::kLoss;
  std::vector<int> ranks;  ///< ascending
  std::uint64_t step = 0;
  std::chrono::milliseconds lasts{0};  ///< 0: to the end, of kLoss and kCut alone

  bool operator==(const Fault&) const = default;
};

struct Scenario {
  int ranks = 2;
  std::uint64_t seed = 1;  ///< of the schedule
  std::string algorithm;   ///< as PACELINE_ALGORITHM
  std::size_t segment_bytes = 1024;
  std::chrono::milliseconds timeout{5000};
  std::chrono::microseconds min_delay{5};
  std::chrono::microseconds max_delay{500};
  std::chrono::microseconds loss_delay{1000};
  int synchronous_percent = 50;  ///< sends that end only when they are received
  std::vector<Call> calls;
  std::vector<Deviation> deviations;
  std::vector<Fault> faults;

  bool operator==(const Scenario&) const = default;
};

/// What one rank calls, its deviations done.
std::vector<Call> calls_of(const Scenario& scenario, int rank);

/// The operation in a Culprit's words: "all_reduce(7 x int64, max) #2".
std::string words_of(const Call& call, std::uint64_t sequence, int ranks);

inline constexpr int kMostRanks = 64;  ///< of a scenario
inline constexpr std::size_t kMostCount = 1 << 21;

struct GenerateOptions {
  int min_ranks = 2;
  int max_ranks = 16;
  std::size_t max_calls = 6;
};

/// Neither faults nor deviations. The same seed and options give the same scenario.
Scenario generate(std::uint64_t seed, const GenerateOptions& options);

/// Multiplies all counts, so that the largest comes near `most` and equal ones stay equal.
void enlarge(Scenario& scenario, std::size_t most);

/// One or two lost ranks, a partition, or ranks that are stopped or slow for a while, at any of the
/// `steps` that the scenario takes without.
void place_faults(Scenario& scenario, std::uint64_t steps, Random& random);

/// What a disagreement is about.
enum class Difference { kKind, kCount, kType, kOp, kRoot, kOrder, kOneFewer, kZeroCount };
inline constexpr Difference kDifferences[] = {
    Difference::kKind, Difference::kCount, Difference::kType,     Difference::kOp,
    Difference::kRoot, Difference::kOrder, Difference::kOneFewer, Difference::kZeroCount};
const char* name(Difference difference);

/// Lets some ranks deviate in one call; changes what all call there where it must.
void place_disagreement(Scenario& scenario, Difference difference, Random& random);

}  // namespace paceline::testing
