// Derives a verdict from measurements. Pure: equal measurements give equal verdicts, so it is
// tested with recorded and with invented measurements.
//
// The expected rate of a link follows from its peers: for each host, the rate that it reaches to
// most others; of these, the median over hosts, and the spread around it. There is no fixed
// threshold. A slower flow gets the cause that explains the most slow flows:
//
//        to h1 h2 h3 h4                                      to h1 h2 h3 h4
//   from h1  .  +  +  +     all of a row: the egress    from h1  .  +  -  +     all of a column:
//        h2  -  .  -  -     of h2                            h2  +  .  -  +     the ingress of h3
//        h3  +  +  .  +                                      h3  +  +  .  +
//        h4  +  +  +  .     one alone: the pair              h4  +  +  -  .
//
// If a flow waited for the CPUs of its host, the CPUs are blamed (cpu_bound.h). Lost packets have a
// cause of their own (packet_loss.h), and so have links on which a measurement failed, whether they
// worked later or not (broken_ways.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/connectivity/measurements.h"

namespace paceline::launcher {

enum class CheckState : std::uint8_t { kOk, kDegraded, kUnknown };
std::string_view name(CheckState state);

enum class Fault : std::uint8_t {
  kHostEgress,
  kHostIngress,
  kHostUnreachable,
  kStoppedAnswering,  ///< for a while: it did not run, or several ways to it broke off
  kPair,              ///< slow, one way or both
  kPairBroken,        ///< nothing passes
  kPairInterrupted,   ///< nothing passed for a while
  kCpuBound,          ///< not link-bound
  kAllLinks,          ///< slower than they are rated, or than in the baseline
  kNetwork,           ///< ways that have no host in common broke off, or all-reduce hung
  kPacketLoss,        ///< of a host, or in one direction of a pair
  kUnfit,             ///< it did not take part, or was lost
};
std::string_view name(Fault fault);

struct Blame {
  Fault fault{};
  std::string name = {};        ///< of a host or pair that may have no number; empty: see `host`
  int host = -1;                ///< -1: all of them
  int other = -1;               ///< of a pair: `host` sends to it
  bool both = true;             ///< of a pair: it is slow the other way, too
  double found_bits_per_s = 0;  ///< the median of what is slow; 0: not a matter of rates
  std::string evidence;         ///< a sentence's worth, without the host's name

  bool operator==(const Blame&) const = default;
};

struct Verdict {
  CheckState state{};
  std::vector<Blame> blames;         ///< where it is kDegraded; what explains most comes first
  std::vector<std::string> reasons;  ///< why it is not known, or what limits what is
  double expected_bits_per_s = 0;    ///< of a flow; 0: there are none
  double spread = 0;  ///< of the flows around it, as a share of it: 1.48 times the median deviation

  bool operator==(const Verdict&) const = default;
};

/// `baseline`: an earlier record, which may have other hosts, or null. Links are compared with it,
/// too.
Verdict judge(const probe::Measurements& measured, const probe::Measurements* baseline = nullptr);

/// "h3 egress", "h1 -> h2", "h1 <-> h2", "h3": whom it is about.
std::string subject_of(const Blame& blame, const std::vector<std::string>& hosts);

/// "95.6 Mbit/s".
std::string rate_text(double bits_per_s);

}  // namespace paceline::launcher
