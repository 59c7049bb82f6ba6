// Simulated ranks: the same code that runs in processes, in one process, in simulated time, in an
// order that a seed decides.
//
// Each rank is a thread, but only one runs at a time: Engine::wait() hands over to another rank
// when its condition does not hold. A hand-over costs about 10 us (2 cores, 16 or 1,000 ranks,
// also under the address and thread sanitizers), which is thousands of schedules of 16 ranks in a
// minute; fibers would be faster and need switch functions that each sanitizer must be told of.
//
//   Simulation simulation({.ranks = 3, .seed = 7});
//   Status status = simulation.run([&](int rank, Engine& engine) { … });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include <paceline/status.h>

#include "comm/base/random.h"
#include "comm/engine.h"

namespace paceline {

class Simulation {
 public:
  struct Options {
    int ranks = 1;
    std::uint64_t seed = 0;
    /// Bound on hand-overs and events: a schedule that needs more does not end.
    std::uint64_t step_limit = 10'000'000;
  };

  explicit Simulation(const Options& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Runs `body` once per rank and returns when all have returned. Fails with Code::kInternal when
  /// the step limit is reached or nothing can ever happen again; every wait ends unsatisfied then,
  /// so that the bodies return.
  Status run(FunctionRef<void(int rank, Engine& engine)> body);

  int ranks() const;
  std::uint64_t seed() const;
  Engine& engine(int rank);
  const Clock& clock() const;
  /// Randomness of the schedule; whoever adds chance to the simulated world forks its own.
  Random& random();

  /// Calls `event` after `delay` of simulated time, between two ranks' turns. Events of the same
  /// moment come in the order of the calls.
  void schedule(Duration delay, std::function<void()> event);
  /// Something that `rank` may wait for has changed: its condition will be looked at again.
  void touch(int rank);

 private:
  class Scheduler;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace paceline
