#include "tests/sim/simulated_run.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "comm/transport/inproc.h"
#include "tests/sim/rank_calls.h"

namespace paceline::testing {
namespace {

// Far above what any scenario needs, and reached within seconds.
constexpr std::uint64_t kStepLimit = 3'000'000;
// The messages of a slow rank take this part of the timeout longer.
constexpr int kSlowPart = 50;

class SimulatedWorld {
 public:
  SimulatedWorld(const Scenario& scenario, RankThreads& threads)
      : scenario_(scenario),
        simulation_({.ranks = scenario.ranks,
                     .seed = scenario.seed,
                     .step_limit = kStepLimit,
                     .threads = &threads}),
        network_(simulation_, {.min_delay = scenario.min_delay,
                               .max_delay = scenario.max_delay,
                               .loss_delay = scenario.loss_delay,
                               .synchronous = scenario.synchronous_percent / 100.0}),
        gone_(static_cast<std::size_t>(scenario.ranks)) {
    outcome_.ranks.resize(gone_.size());
    for (const Member& member : network_.group(0).members) outcome_.hosts.push_back(member.host);
    for (const Fault& fault : scenario.faults) {
      simulation_.at_step(fault.step, [this, &fault] { befall(fault); });
    }
  }

  Outcome run() {
    outcome_.simulated =
        simulation_.run([this](int rank, Engine& engine) { run_rank(rank, engine); });
    outcome_.steps = simulation_.steps();
    return std::move(outcome_);
  }

 private:
  void befall(const Fault& fault) {
    for (const int rank : fault.ranks) befall(fault, rank);
    switch (fault.kind) {
      case Fault::Kind::kLoss:
        return;
      case Fault::Kind::kCut:
        if (fault.lasts.count() == 0)
          outcome_.cut_off = fault.ranks;
        else
          simulation_.schedule(fault.lasts, [this] { network_.heal(); });
        return;
      case Fault::Kind::kStop:
        outcome_.slack += fault.lasts;
        return;
      case Fault::Kind::kSlow:
        simulation_.schedule(fault.lasts, [this, &fault] {
          for (const int rank : fault.ranks) network_.delay(rank, Duration::zero());
        });
        return;
    }
  }

  void befall(const Fault& fault, int rank) {
    switch (fault.kind) {
      case Fault::Kind::kLoss:
        return lose(rank);
      case Fault::Kind::kCut:
        return network_.cut_off(rank);
      case Fault::Kind::kStop:
        return simulation_.stop(rank, fault.lasts);
      case Fault::Kind::kSlow:
        return network_.delay(rank, scenario_.timeout / kSlowPart);
    }
  }

  void lose(int rank) {
    if (gone_[static_cast<std::size_t>(rank)]) return;
    outcome_.lost.push_back(rank);
    network_.lose(rank);
  }

  void run_rank(int rank, Engine& engine) {
    RankOutcome& outcome = outcome_.ranks[static_cast<std::size_t>(rank)];
    // Not owned: the simulation's engines outlive its run.
    std::shared_ptr<Engine> borrowed(std::shared_ptr<void>(), &engine);
    std::optional<Communicator> world = communicator_over(
        borrowed, network_.connect(network_.group(rank)), communicator_options(scenario_));
    outcome.calls = make_calls(*world, calls_of(scenario_, rank), engine.clock(), order_);
    const TimePoint begin = engine.clock().now();
    world.reset();
    gone_[static_cast<std::size_t>(rank)] = true;
    outcome.leaving = engine.clock().now() - begin;
  }

  const Scenario& scenario_;
  Simulation simulation_;
  InprocNetwork network_;
  std::vector<bool> gone_;  // indexed by rank: has left by itself
  Outcome outcome_;
  Order order_{0};
};

}  // namespace

Outcome run_simulated(const Scenario& scenario, RankThreads& threads) {
  return SimulatedWorld(scenario, threads).run();
}

}  // namespace paceline::testing
