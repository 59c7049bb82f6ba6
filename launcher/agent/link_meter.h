// How the TCP connections of the ranks of this host have gone, by the kernel's counts
// (sock_diag(7)). All connections of a rank count, whichever library made them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "comm/base/ip_address.h"
#include "comm/base/unique_fd.h"
#include "telemetry/job/link_account.h"

namespace paceline::launcher {

class LinkMeter {
 public:
  static constexpr std::size_t kMostSockets = 65536;  ///< of a host that the meter looks at
  static constexpr std::size_t kMostLinks = LinkAccount::kMostReadings;

  /// Tests count connections of this host with itself, too.
  explicit LinkMeter(bool counts_loopback = false) : counts_loopback_(counts_loopback) {}

  /// Looks at the connections of these process groups. Looks become rarer where they take long:
  /// they cost at most 1 % of a CPU. True if it has looked.
  bool look(const std::vector<pid_t>& groups, const Clock& clock);
  /// Since the start. Where there are more than kMostLinks pairs of addresses, those that carried
  /// the most.
  std::vector<LinkReading> links() const;

 private:
  using Ends = std::pair<IpAddress, IpAddress>;
  struct Counts {
    std::uint64_t bytes = 0, resent_bytes = 0;
    Duration busy{};
    bool is_resent = false;  // data has been sent again, twice or more, and nothing came back
  };
  struct Seen {
    std::uint32_t inode = 0;
    Ends ends;
    Counts counts;
  };
  struct Known {
    bool is_of_rank = false;
    Counts counts;                        // when it was last seen
    std::uint64_t look = 0;               // that saw it last
    std::optional<TimePoint> unanswered;  // since then
  };
  using Sockets =
      std::map<std::uint64_t, Seen>;  // by the kernel's cookie, which no other socket has

  static Counts counts_of(const void* info, std::size_t bytes);
  bool open();
  bool read(int family, Sockets& found);
  void take(const void* message, std::size_t bytes, Sockets& found) const;
  void add(const Sockets& found, TimePoint now);
  void make_room();

  const bool counts_loopback_;
  UniqueFd netlink_;
  bool is_off_ = false;  // the kernel has no such counts
  TimePoint next_ = TimePoint::min();
  std::uint64_t look_ = 0;
  std::vector<pid_t> groups_;
  std::map<std::uint64_t, Known> known_;
  std::map<Ends, Counts> links_;
  std::map<Ends, Duration> unanswered_;  // of those where it is not 0
};

}  // namespace paceline::launcher
