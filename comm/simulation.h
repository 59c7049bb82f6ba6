// Simulated ranks: the same code that runs in processes, in one process, in simulated time, in an
// order that a seed decides.
//
// Each rank is a thread, but only one runs at a time: Engine::wait() hands over to another rank
// when its condition does not hold. Fibers would hand over faster and need switch functions that
// each sanitizer must be told of; instead a rank that waits is driven, and its condition looked at,
// by whichever thread has the turn, so that a hand-over happens only when a wait is over.
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

/// The threads that ranks run on, kept from one simulation to the next by whoever runs thousands of
/// them: starting a thread costs more than most ranks do. One simulation at a time uses them; they
/// end with this object.
class RankThreads {
 public:
  RankThreads();
  ~RankThreads();
  RankThreads(const RankThreads&) = delete;
  RankThreads& operator=(const RankThreads&) = delete;

 private:
  friend class Simulation;
  class Pool;
  std::unique_ptr<Pool> pool_;
};

class Simulation {
 public:
  struct Options {
    int ranks = 1;
    std::uint64_t seed = 0;
    /// Bound on turns and events: a schedule that needs more does not end.
    std::uint64_t step_limit = 10'000'000;
    /// Borrowed; the simulation starts threads of its own where there are none.
    RankThreads* threads = nullptr;
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

  /// Turns and events so far. The same seed and bodies take the same steps.
  std::uint64_t steps() const;
  /// Calls `event` between two ranks' turns, as soon as steps() has reached `step`; never if the
  /// bodies return earlier. Events of the same step come in the order of the calls.
  void at_step(std::uint64_t step, std::function<void()> event);
  /// Calls `event` after `delay` of simulated time, between two ranks' turns. Events of the same
  /// moment come in the order of the calls.
  void schedule(Duration delay, std::function<void()> event);
  /// The rank's process is stopped, and goes on after `time` of simulated time.
  void stop(int rank, Duration time);
  /// Something that `rank` may wait for has changed: its condition will be looked at again.
  void touch(int rank);

 private:
  class Scheduler;
  std::unique_ptr<RankThreads> own_threads_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace paceline
