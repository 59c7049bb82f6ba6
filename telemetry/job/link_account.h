// Which links between hosts carry the data of a job, and which of them are slow. Pure.
//
//   what each host sent to which address -> LinkAccount -> links between hosts -> find_slow_links()
//
// The kernel counts for each TCP connection how long data was on its way (tcp_info of tcp(7):
// tcpi_busy_time) and could be received (less tcpi_rwnd_limited). Bytes divided by that time are
// what the link gave when it was asked: a rank that is late sends nothing, and costs no rate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "comm/base/clock.h"

namespace paceline {

/// TCP of the ranks of a host from one of its addresses to another address, since their start.
struct LinkReading {
  std::string from, to;
  std::uint64_t bytes = 0;         ///< that arrived
  std::uint64_t resent_bytes = 0;  ///< that were sent again
  Duration busy{};                 ///< while data was on its way and the receiver had room
  Duration unanswered{};  ///< for how long data has been sent again without an acknowledgement

  bool operator==(const LinkReading&) const = default;
};

/// All of that from one host to another.
struct LinkSummary {
  std::string from, to;  ///< hosts
  std::uint64_t bytes = 0, resent_bytes = 0;
  double busy_seconds = 0;        ///< of the connection that was the longest
  double unanswered_seconds = 0;  ///< the same

  /// Bytes a second; 0: it was never busy.
  double rate() const { return busy_seconds > 0 ? static_cast<double>(bytes) / busy_seconds : 0; }
  bool operator==(const LinkSummary&) const = default;
};

struct SlowLink {
  LinkSummary link;
  double usual = 0;  ///< median rate of the other links, bytes a second

  bool operator==(const SlowLink&) const = default;
};

class LinkAccount {
 public:
  static constexpr std::size_t kMostReadings = 1024;  ///< of a host

  /// Forgets all: the ranks start anew on these hosts.
  void begin(std::vector<std::string> hosts);
  /// Replaces what was known of the host. Nothing of a host beyond those of begin(), readings
  /// beyond kMostReadings, and addresses that cannot be ones counts.
  void take(std::size_t host, std::vector<LinkReading> readings);

  /// Those of which both hosts are known, the busiest first. A host has the addresses from which it
  /// sends.
  std::vector<LinkSummary> links() const;

 private:
  std::vector<std::string> hosts_;
  std::vector<std::vector<LinkReading>> readings_;  // by host
};

/// The slowest first. Links are judged that carried much of the data and were busy for a tenth of
/// `seconds`. One is slow if its rate is much lower than that of the others. A link to a host from
/// which a slower link leads is left out: it may only wait for acknowledgements. So are links to
/// `late_readers`, hosts with a rank that did not run: its kernel acknowledges data late. Links to
/// their senders are left out, too, since these wait.
std::vector<SlowLink> find_slow_links(const std::vector<LinkSummary>& links, double seconds,
                                      const std::set<std::string>& late_readers = {});
/// "slow link h2 to h3: 48 Mbit/s, others 194 Mbit/s; 1 more slow link"; empty: there is none.
std::string words_of(const std::vector<SlowLink>& slow);

}  // namespace paceline
