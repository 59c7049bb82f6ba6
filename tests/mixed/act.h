// What the ranks of a communicator do together, drawn from a seed: each rank draws the same.
//
// Vocabulary, used by every file here:
//   act     one thing that all ranks of a communicator do: a call, several calls at once, a split
//   port    a communicator of the C++ or of the C interface
//   lane    a port and a thread of each rank; acts of a lane come one after the other
//   ending  what a rank does in the middle, so that the others get an error
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/base/random.h"
#include "tests/harness/calls.h"

namespace paceline::testing::mixed {

struct Act {
  enum class Kind {
    kCall,
    kBatch,     ///< several operations in the background
    kMany,      ///< all_reduce_many()
    kGroup,     ///< between plGroupStart() and plGroupEnd()
    kMessages,  ///< a random exchange of all pairs: tests/harness/message_trial.h
    kPair,      ///< send() on one rank, receive() on another
    kRefused,   ///< a wrong call, after which the communicator is usable
    kSplit      ///< acts of new communicators
  };
  Kind kind = Kind::kCall;
  /// What all ranks agree on. Each rank draws where its arrays lie, and whether it is in place.
  std::vector<Call> calls;
  std::vector<int> colors, keys;  ///< kSplit: by rank
  int from = 0, to = 0;           ///< kPair
  std::uint64_t seed = 0;         ///< of what else all ranks draw
};

struct ActForm {
  int ranks = 1;
  bool is_in_c = false;
  bool may_split = false;
};

/// Pure.
Act draw_act(Random random, const ActForm& form);
/// For messages: "batch all_reduce(7 x int64, max) broadcast(…)".
std::string to_text(const Act& act, int ranks);

/// A generator for one purpose, told apart by numbers.
Random drawn(std::uint64_t seed, std::initializer_list<std::uint64_t> purpose);

}  // namespace paceline::testing::mixed
