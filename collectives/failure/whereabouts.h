// Where a rank is that does not answer: evidence from outside of it, such as its flight ring.
#pragma once

#include <string>

namespace paceline {

/// Everything with the engine's baton held, without blocking.
class Whereabouts {
 public:
  virtual ~Whereabouts() = default;
  /// Begins to find out; the answer may take a while.
  virtual void look_for(int rank) = 0;
  /// In words, the newest that is known: "all_reduce(10 x float32, sum) #3, running for 2.1 s".
  /// Empty: nothing is.
  virtual std::string found(int rank) = 0;
};

}  // namespace paceline
