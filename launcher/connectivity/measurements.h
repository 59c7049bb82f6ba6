// What `paceline check` has found out about hosts and the ways between them, and the lines in which
// rank 0 says it. Pure.
//
// Hosts are numbered by rank. A flow goes one way, from the host that sends to the one that gets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/connectivity/host_facts.h"

namespace paceline::probe {

/// How a thread spent its time.
struct CpuUse {
  double busy = 0;       ///< on a CPU: a share of the wall time
  double waiting = 0;    ///< the same, ready but without one: others had it, or a quota was used up
  double throttled = 0;  ///< in how many of its periods its control group's quota was used up

  bool operator==(const CpuUse&) const = default;
};

/// What a host gives to one thread that never sleeps.
struct Spin {
  int host = 0;
  CpuUse cpu;
  double copied_bytes_per_s = 0;  ///< by such a thread, in memory; 0: not known

  bool operator==(const Spin&) const = default;
};

/// Of an empty message; half a round trip.
struct Latency {
  int round = 0;
  int from = 0;
  int to = 0;
  double best_us = 0;
  double median_us = 0;
  double clock_offset_us = 0;  ///< what the clock of `to` is ahead of that of `from`, ± best_us

  bool operator==(const Latency&) const = default;
};

struct Flow {
  int round = 0;  ///< those of one round ran at the same time; a pair may be measured again
  int from = 0;
  int to = 0;
  bool both_ways = false;  ///< while as much as possible went the other way, too
  double bits_per_s = 0;   ///< of data, without headers, once it was steady
  double segments = 0;     ///< that were sent; 0: not known
  double retransmits = 0;  ///< of these, segments that were sent again
  double window = 0;       ///< congestion window in segments, on average; 0: not known
  CpuUse sender;
  CpuUse receiver;

  bool operator==(const Flow&) const = default;
};

/// A period in which the processes of a host did not run: it was paused, frozen or had no CPU time.
/// It may overlap any measurement.
struct Stall {
  int host = 0;
  double seconds = 0;

  bool operator==(const Stall&) const = default;
};

/// A host on which no job could run: it did not take part, or it was lost during the measurement.
struct UnfitHost {
  std::string name;
  std::string why;
  std::string or_host = {};  ///< that may be the reason instead; empty: none

  bool operator==(const UnfitHost&) const = default;
};

/// A measurement between two hosts that could not be made.
struct Broken {
  int round = 0;
  int from = 0;
  int to = 0;
  bool is_silence = false;  ///< nothing came in time; otherwise the connection failed
  std::string why;

  bool operator==(const Broken&) const = default;
};

/// All-reduce of float32, sum, out of place, among the first `hosts` hosts.
struct Reduction {
  int hosts = 0;
  std::uint64_t bytes = 0;
  double time_us = 0;
  std::int64_t wrong = 0;      ///< elements
  double wire_bits_per_s = 0;  ///< what the busiest network device sent, headers and all
  double max_us = 0;           ///< of one operation, also of those that are not in `time_us`

  bool operator==(const Reduction&) const = default;
};

struct Measurements {
  std::vector<std::string> hosts;  ///< their names
  std::vector<HostFacts> facts;    ///< by host; empty where none came
  std::vector<Spin> spins;
  std::vector<Latency> latencies;
  std::vector<Flow> flows;
  std::vector<Broken> broken;
  std::vector<Stall> stalls;
  std::vector<Reduction> reductions;
  std::vector<UnfitHost> unfit;    ///< may be in `hosts`, too, if they took part at first
  std::vector<std::string> notes;  ///< what could not be measured, and why

  bool operator==(const Measurements&) const = default;
};

/// Each ends without a newline, and has less than 4 KiB.
std::string to_line(int host, const HostFacts& facts);
std::string to_line(const Spin& spin);
std::string to_line(const Latency& latency);
std::string to_line(const Broken& broken);
std::string to_line(const Stall& stall);
std::string to_line(const Reduction& reduction);
/// A flow is known to two ranks: each says its own half.
std::string sender_line(const Flow& flow);
std::string receiver_line(const Flow& flow);
std::string note_line(std::string_view text);
/// How far it is, for who waits: "progress 3 9 links".
std::string progress_line(int done, int all, std::string_view what);

/// Adds what a line says. False where it is none of these; progress adds nothing.
bool take_line(std::string_view line, Measurements& into);

}  // namespace paceline::probe
