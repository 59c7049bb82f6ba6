// What is to be said about hosts, from their facts: a table of rules. Pure.
#pragma once

#include <string>
#include <vector>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

struct Finding {
  std::string host;
  std::string what;  ///< "open files"
  std::string found;
  std::string expected;
  bool fine = true;
  std::string why;     ///< it is expected
  std::string advice;  ///< what to do; empty where it is fine

  bool operator==(const Finding&) const = default;
};

/// Each rule's finding on each host, host after host. What a kernel does not tell is found "not
/// known" and fine. A finding is no verdict: jobs run, but may run into it.
std::vector<Finding> find_on_hosts(const probe::Measurements& measured);

/// What the clock of each host is ahead of that of host 0, in microseconds, by the shortest chains
/// of latencies; as many as there are hosts. A host that none leads to has 0.
std::vector<double> clock_offsets_us(const probe::Measurements& measured);

}  // namespace paceline::launcher
