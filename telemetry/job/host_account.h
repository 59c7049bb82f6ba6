// How hosts and their GPUs were used by a job and by others, from the readings of agents. Pure.
//
//   readings of hosts -> HostAccount -> HostSummary -> record, report
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"
#include "telemetry/job/figures.h"

namespace paceline {

/// What a summary has of the readings of a figure.
enum class Kept : std::uint8_t {
  kRate,    ///< growth a second
  kGrowth,  ///< growth
  kMean,
  kLeast,
  kMost,
  kLast,
  kBits,  ///< all bits that any reading has
};

/// A figure in a summary: its name has the unit of what is kept.
struct FigureRow {
  std::string_view name;
  Kept kept;
};
/// By HostFigure: "cpus_busy" is the rate of kCpuBusy, a number of CPUs.
const FigureRow& row_of(HostFigure figure);
/// By GpuFigure.
const FigureRow& row_of(GpuFigure figure);

struct HostReading {
  Duration time{};  ///< when it was read, by the clock of its host
  HostFigures figures;
  std::vector<GpuReading> gpus;           ///< empty: there are none, or the driver does not answer
  std::optional<Duration> clock_error{};  ///< of times of the host in the report; none: not known
};

/// A host between its first reading and its last one.
struct HostSummary {
  std::string host;
  HostFigures figures;                    ///< as row_of() says
  std::vector<GpuReading> gpus;           ///< as row_of() says
  std::optional<double> clock_error_s{};  ///< at the last reading

  bool operator==(const HostSummary&) const = default;
};

class HostAccount {
 public:
  static constexpr std::size_t kMostGpus = 32;  ///< of a host

  /// Forgets all: the ranks start anew on these hosts.
  void begin(std::vector<std::string> hosts);
  /// Nothing of a host beyond those of begin(), and of GPUs beyond kMostGpus, counts.
  void take(std::size_t host, HostReading reading);

  /// The last one of a host. None: its agent has sent none.
  const HostReading* latest(std::size_t host) const;
  /// Of the hosts that have sent readings.
  std::vector<HostSummary> summaries() const;

 private:
  // A figure so far.
  struct Course {
    double last = 0, least = 0, most = 0, sum = 0, growth = 0;
    std::uint64_t bits = 0, count = 0;

    void take(double value);
    double kept(Kept kept, double seconds) const;
  };
  struct Gpu {
    std::string name;
    std::vector<Course> courses;  // by GpuFigure
  };
  struct Host {
    std::string name;
    std::optional<HostReading> latest;
    Duration first_time{};
    std::vector<Course> courses;  // by HostFigure
    std::vector<Gpu> gpus;        // by number
  };

  std::vector<Host> hosts_;
};

}  // namespace paceline
