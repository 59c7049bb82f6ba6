// Why others wait for a rank, by evidence: it is compared with the other ranks. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "telemetry/job/figures.h"

namespace paceline {

/// Why a rank comes late.
enum class Cause : std::uint8_t {
  kUnknown,
  kComputesLonger,  ///< its own computation takes longer, with the CPU time that it needs
  kInput,           ///< its input takes longer
  kThrottled,       ///< the quota of its control group leaves it without a CPU
  kNoCpu,           ///< other threads of the host leave it without a CPU
  kStopped,         ///< a signal or a debugger stops it
  kMemory,          ///< its pages are read from disk again and again
  kBlocked,         ///< it waits in the kernel, mostly for a disk
  kLink,            ///< data for it comes over a slow link
  kOther,           ///< it takes longer outside of computation and input, as for checkpoints
};

/// For a sentence: "it was stopped"; empty for kUnknown.
std::string_view words_of(Cause cause);
/// The cause of these words; none for others.
std::optional<Cause> cause_of_words(std::string_view words);

/// Of a rank, as shares of the time that is judged.
struct RankEvidence {
  double waited_for = 0;  ///< mean over ranks of the time that they waited for it
  double compute = 0;
  double input = 0;
  double other = 0;      ///< of the parts of steps
  double running = 0;    ///< on a CPU
  double queued = 0;     ///< ready to run without a CPU, throttled time included
  double throttled = 0;  ///< up to 1 for each CPU
  double stopped = 0;
  double blocked = 0;
  double major_faults_per_s = 0;
  // For the reader of the record:
  double resident_kib = 0;  ///< memory at the end
  HostFigures figures;      ///< as row_of() says: pressure on its control group, and disks

  bool operator==(const RankEvidence&) const = default;
};

struct Straggler {
  int rank = 0;
  double waited_for = 0;
  Cause cause{};
};

/// The ranks that are waited for much more than others, the worst first. `ranks` is by rank. Nobody
/// is named where waits are short, or spread over the ranks.
std::vector<Straggler> find_stragglers(const std::vector<RankEvidence>& ranks);

}  // namespace paceline
