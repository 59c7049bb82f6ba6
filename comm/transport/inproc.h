// Transport between the ranks of a Simulation: a network whose delays, order and faults a seed
// decides.
//
// Messages of one pair stay in order; those of different pairs overtake each other by their random
// delays. A send ends at once, its payload copied, or only when its receive has met it, its payload
// read at that moment: the seed decides, so that code which relies on either is found out. The
// backlog has no bound here.
#pragma once

#include <memory>

#include "comm/simulation.h"
#include "comm/transport.h"

namespace paceline {

class InprocNetwork {
 public:
  struct Options {
    Duration min_delay = std::chrono::microseconds(5);
    Duration max_delay = std::chrono::microseconds(500);
    /// What it takes the peers of a lost rank to find out, beyond a message's delay.
    Duration loss_delay = std::chrono::milliseconds(1);
    /// Share of sends that end only when they are received.
    double synchronous = 0.5;
  };

  /// The simulation is borrowed and outlives the network; the network outlives its transports.
  InprocNetwork(Simulation& simulation, const Options& options);
  ~InprocNetwork();
  InprocNetwork(const InprocNetwork&) = delete;
  InprocNetwork& operator=(const InprocNetwork&) = delete;

  /// This rank's end of the network: one per rank.
  std::unique_ptr<Transport> connect(const Group& group);
  /// A group of all simulated ranks, seen by `rank`; its hosts are called sim0, sim1, …
  Group group(int rank) const;

  /// The rank's process ends: its own requests end as cancelled, and its peers lose it once they
  /// have got what is on its way.
  void lose(int rank);
  /// Nothing passes between `rank` and the others until heal(); what is sent meanwhile waits.
  void cut_off(int rank);
  void heal();
  /// From now on messages from and to `rank` take so much longer; zero ends it.
  void delay(int rank, Duration extra);

  class State;

 private:
  std::shared_ptr<State> state_;  // owners: the network, its transports and pending events
};

}  // namespace paceline
