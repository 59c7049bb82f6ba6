// Which pairs of hosts are measured when. Pure.
//
// A round is a set of disjoint pairs, which are measured at the same time. All pairs of n hosts
// take n - 1 rounds (n, where n is odd), by the circle method of tournaments:
//
//        5 ─ 0      host n - 1 stays; the others go round it, and those who face each other
//      4 ─── 1      are a pair: in round r, a + b = r modulo n - 1
//        3 ─ 2
//
// Any few of these rounds put each host into as many pairs, all with other hosts: a host whose
// egress is slow is slow to all of its partners, a slow pair is slow alone.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "launcher/connectivity/measurements.h"

namespace paceline::probe {

/// The lower one first.
using Pair = std::pair<int, int>;
using Round = std::vector<Pair>;

/// Up to so many hosts every pair is measured; of more hosts 2 ceil(log2 n) rounds.
inline constexpr int kAllPairsUpTo = 16;

/// The first rounds of a check.
std::vector<Round> first_rounds(int hosts);

/// Those in which something was slow, or did not come, and might do better: it was not as slow
/// twice before. Where most of what a host sends or gets is slow, some of it stands for the rest,
/// as long as it stays slow. At most `most` rounds, with the pairs first that stand alone.
std::vector<Round> rounds_again(const Measurements& measured, int most);

/// ceil(log2 n); 0 for one host.
int doublings(int hosts);

}  // namespace paceline::probe
