// A rule about hosts: what it finds on one host, compared with the others. Pure.
#pragma once

#include <algorithm>
#include <map>
#include <span>
#include <string>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

/// One host among all.
struct HostCase {
  const probe::Measurements& all;
  int host;
  const probe::HostFacts& facts;
  double clock_us = 0;

  /// The value of most hosts; of two values that are as frequent, the lower one.
  template <class T>
  T usual(T probe::HostFacts::*member) const {
    std::map<T, int> counts;
    for (const probe::HostFacts& one : all.facts) ++counts[one.*member];
    return std::max_element(
               counts.begin(), counts.end(),
               [](const auto& left, const auto& right) { return left.second < right.second; })
        ->first;
  }
};

/// The result of a rule for a host. Finding explains the members.
struct Opinion {
  std::string found;
  std::string expected;
  bool fine = true;
  std::string why;
  std::string advice;
};

enum class About {
  kHost,
  kNetwork,  ///< a host that is checked alone has no network device
};

struct HostRule {
  const char* what;
  Opinion (*judge)(const HostCase& at);
  About about = About::kHost;
};

/// For clusters in which a host has a GPU of NVIDIA.
std::span<const HostRule> gpu_rules();

}  // namespace paceline::launcher
