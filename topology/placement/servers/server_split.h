// How much of the parameters the servers of each host carry. Pure.
#pragma once

#include <vector>

#include <paceline/status.h>

namespace paceline::topology {

/// A host, for the servers: what its ranks push in a step, and how fast its link is.
struct ServerSite {
  double us_per_mb = 0;  ///< of its link, the slower way
  double push_mb = 0;    ///< of all of its ranks together
  bool may_serve = true;
  double served_us_per_mb = 0;  ///< of the NICs that its servers have; 0: as the link
};

struct ServerSplit {
  std::vector<double> shares;  ///< by host; they sum to 1
  double us = 0;               ///< until the last link has carried all of its bytes
};

/// The split over at most `servers` hosts that takes the least time. Each way a host's link carries
/// what its ranks push, but for the share that it serves itself, and what it serves to others:
///
///   push (1 - share)  +  share (all pushes - push)
///
/// and the NICs of its servers the second term alone; by bisection on the time. With equal links, n
/// hosts with as many ranks each and k without, n at least k, and servers on all of them it is
/// BytePS's split (Jiang et al., OSDI 2020): a host with ranks has the share (n-k)/(n^2+kn-2k), one
/// without 2(n-1)/(n^2+kn-2k). At least one site may serve and `servers` is at least 1. Hosts x
/// bisections.
ServerSplit split_servers(const std::vector<ServerSite>& sites, int servers);

}  // namespace paceline::topology
