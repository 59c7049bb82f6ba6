// The cost of an operation, in quantities that a path model turns into time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <paceline/status.h>

#include "collectives/plan/plan.h"

namespace paceline {

/// The maximum over ranks of each quantity; counts are elements.
struct Cost {
  std::size_t rounds = 0;    ///< messages in the longest chain in which each waits for the last
  std::size_t messages = 0;  ///< sent by one rank
  std::size_t count_sent = 0;
  std::size_t count_reduced = 0;  ///< once for each operand but the first
  /// Sent by all ranks of one host to other hosts: what goes out through its line.
  std::size_t count_between_hosts = 0;

  /// Each quantity becomes the maximum of both.
  void raise_to(const Cost& other);

  bool operator==(const Cost&) const = default;
};

/// Adds up what the ranks of each host send to other hosts.
class HostLines {
 public:
  /// Borrows `hosts`, which is as in PlanRequest.
  HostLines(int ranks, const std::vector<int>* hosts)
      : hosts_(hosts), sent_(static_cast<std::size_t>(ranks), 0) {}

  void add(int from, int to, std::size_t count);
  /// The elements that the host with the most sends.
  std::size_t most() const;

 private:
  const std::vector<int>* hosts_;
  std::vector<std::size_t> sent_;  // by host
};

/// Counts them in a set of plans that check() accepts, indexed by rank. A message leaves when its
/// send begins and adds one to the chain where it is received. A recv that waits until its target
/// is free, and a message that waits for an earlier one on the same path, add none: that is what
/// the bytes cost. `hosts` is as in PlanRequest. Errors are those of match() and
/// rendezvous_order().
Result<Cost> measure(std::span<const Plan> plans, const std::vector<int>* hosts = nullptr);

}  // namespace paceline
