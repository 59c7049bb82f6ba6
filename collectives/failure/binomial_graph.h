// Whom a rank tells of an error, so that every survivor hears of it.
//
//   the neighbours of rank 0 among 8:      0 ── 1   0 ── 2   0 ── 4
//                                          0 ── 7   0 ── 6
//
// The binomial graph: ranks r and s are neighbours where they are a power of two apart, modulo n.
// Each tells at most 2 log2 n others, news crosses the graph in at most log2 n hops, and it stays
// connected while fewer ranks are lost than a rank has neighbours (Angskun, Bosilca and Dongarra,
// "Binomial Graph: A Scalable and Fault-Tolerant Logical Network Topology", ISPA 2007).
#pragma once

#include <vector>

namespace paceline {

/// In ascending order, without `rank` itself.
std::vector<int> binomial_graph_neighbours(int rank, int ranks);

}  // namespace paceline
