// Tries everything: from a state, each thread's next step with each value that it may load, and on
// from each new state, until no new one is found.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/interleave/model.h"

namespace paceline::testing {

/// What a search has found.
struct SearchResult {
  std::size_t states = 0;
  bool complete = false;  ///< nothing was left out
  std::string fault;      ///< of the first bad state; empty: there is none
};

/// What is open in a step: which value each of its loads returns. Runs of the same step with the
/// same choices until next() is false go through all there is.
class Choices {
 public:
  void rewind() { asked_ = 0; }
  /// One of `options`, from 0.
  std::size_t pick(std::size_t options) {
    if (asked_ == taken_.size()) taken_.push_back({.pick = 0, .options = options});
    return taken_[asked_++].pick;
  }
  /// A place in the location's history that a load by `thread` may return.
  std::size_t pick_visible(const ModelMemory& memory, int thread, std::size_t location) {
    const std::size_t oldest = memory.first_visible(thread, location);
    return oldest + pick(memory.history_length(location) - oldest);
  }
  bool next() {
    while (!taken_.empty() && taken_.back().pick + 1 == taken_.back().options) taken_.pop_back();
    if (taken_.empty()) return false;
    ++taken_.back().pick;
    return true;
  }

 private:
  struct Taken {
    std::size_t pick;
    std::size_t options;
  };
  std::vector<Taken> taken_;
  std::size_t asked_ = 0;
};

/// A State is copyable and has
///   int threads() const
///   bool step(int thread, Choices&)   throws ModelFault; false: it has ended or waits
///   bool ended() const                all threads have
///   std::string key() const           equal for states in which the same can happen
/// A state that has not ended and in which no thread can go on, whatever it loads, is a deadlock.
template <class State>
SearchResult search(const State& first, std::size_t most_states) {
  SearchResult result;
  std::unordered_set<std::string> known{first.key()};
  std::vector<State> open{first};
  try {
    while (!open.empty() && known.size() <= most_states) {
      const State state = std::move(open.back());
      open.pop_back();
      bool moves = state.ended();
      for (int thread = 0; thread < state.threads(); ++thread) {
        Choices choices;
        do {
          State next = state;
          choices.rewind();
          moves |= next.step(thread, choices);
          if (known.insert(next.key()).second) open.push_back(std::move(next));
        } while (choices.next());
      }
      if (!moves) throw ModelFault{"nobody can go on"};
    }
    result.complete = open.empty();
  } catch (const ModelFault& fault) {
    result.fault = fault.what;
  }
  result.states = known.size();
  return result;
}

}  // namespace paceline::testing
