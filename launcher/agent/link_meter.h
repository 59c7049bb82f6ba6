// How the TCP connections of the ranks of this host have gone, by the kernel's counts
// (sock_diag(7)). All connections of a rank count, whichever library made them.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/unique_fd.h"
#include "telemetry/job/link_account.h"

namespace paceline::launcher {

class LinkMeter {
 public:
  static constexpr std::size_t kMostSockets = 65536;  ///< that one look reads
  static constexpr std::size_t kMostLinks = 1024;     ///< pairs of addresses

  /// Tests count connections of this host with itself, too.
  explicit LinkMeter(bool counts_loopback = false) : counts_loopback_(counts_loopback) {}

  /// Looks at the connections of these processes. Looks become rarer where they take long: they
  /// cost at most 1 % of a CPU.
  void look(const std::vector<pid_t>& ranks, const Clock& clock);
  /// Since the start: connections that have ended are in it as they were last seen.
  std::vector<LinkReading> links() const;

 private:
  struct Counts {
    std::uint64_t bytes = 0, resent_bytes = 0;
    Duration busy{};
  };
  struct Socket {
    std::pair<std::string, std::string> ends;
    Counts counts;
  };
  using Sockets = std::map<std::uint32_t, Socket>;  // by inode

  static Counts counts_of(const void* info, std::size_t bytes);
  bool open();
  void read(int family, Sockets& found);
  bool take(const void* message, std::size_t bytes, Sockets& found) const;

  const bool counts_loopback_;
  UniqueFd netlink_;
  bool is_off_ = false;  // the kernel has no such counts
  TimePoint next_ = TimePoint::min();
  std::set<std::uint32_t> others_;  // inodes of sockets that are not of ranks
  Sockets sockets_;                 // of ranks, open ones
  std::map<std::pair<std::string, std::string>, Counts> ended_;
};

}  // namespace paceline::launcher
