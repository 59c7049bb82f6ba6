// Collects the work of the ranks of a job from the messages of their agents. Prints the lines about
// it at the end of `paceline run`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launcher/channel/messages.pb.h"
#include "launcher/job/job_observer.h"
#include "launcher/registry/run_entry.h"
#include "telemetry/job/clock_alignment.h"
#include "telemetry/job/closing_lines.h"
#include "telemetry/job/host_account.h"
#include "telemetry/job/job_account.h"
#include "telemetry/job/job_trace.h"

namespace paceline::launcher {

class JobTelemetry final : public JobObserver {
 public:
  struct Options {
    /// Gets the lines when the job has ended. Null: nobody wants them.
    std::function<void(const std::string&)> say;
    /// Finds the one-rank run on one of these hosts, when the job has ended. Null: there is none.
    std::function<std::optional<Baseline>(const std::vector<std::string>& hosts)> baseline;
    /// FLOP/s of one rank's device; 0: not stated.
    double peak_flop_per_s = 0;
    /// What the job leaves out. If anything, lines about the ceiling replace the others.
    Ablation ablation;
    /// Finds a run on these hosts to compare with, from which nothing was left out. Null: there is
    /// none.
    std::function<std::optional<WholeRun>(const std::vector<std::string>& hosts)> whole;
    /// The trace that gets readings and operations; null: the job has none.
    JobTrace* trace = nullptr;
  };

  explicit JobTelemetry(Options options) : options_(std::move(options)) {}

  void saw(TimePoint now, const JobEvent& event, const JobState& state) override;

  /// The latest start of the ranks so far. None: no rank has used the library.
  std::optional<JobSummary> summary() const;
  /// The last one of each rank.
  const std::vector<std::optional<RankReading>>& readings() const { return account_.readings(); }
  /// The operation of a rank as its agent last said it; without a name: it has begun none.
  struct Whereabouts {
    messages::Whereabouts said;
    std::vector<messages::Whereabouts> communicators;  // at most FlightRing::kParts
    TimePoint heard{};
  };
  /// By rank. None: it has not joined, or has ended.
  const std::vector<std::optional<Whereabouts>>& whereabouts() const { return whereabouts_; }
  /// Of a host of the latest start, as its agent last said it; null: it has not yet.
  const HostReading* host(std::size_t host) const { return host_account_.latest(host); }
  /// The same for the run record.
  std::optional<RunFigures> figures() const;
  /// How often all ranks were started again.
  int restarts() const { return restarts_; }
  /// The hosts of the latest start, each once.
  std::vector<std::string> hosts() const;

 private:
  void take(TimePoint now, std::size_t host, const messages::RankMeasured& measured);
  void take(std::size_t host, const messages::LinksMeasured& measured);
  void take(std::size_t host, const messages::HostMeasured& measured);
  void begin(const JobState& state);
  std::optional<Duration> clock_error(std::size_t host) const;
  Duration ahead_of(TimePoint now, std::size_t host, std::int64_t time_ns);
  void say_closing_lines() const;

  const Options options_;
  JobAccount account_;
  LinkAccount links_;
  HostAccount host_account_;
  std::optional<std::uint32_t> epoch_;  // that account_ is about
  int restarts_ = 0;
  std::vector<std::string> hosts_;                       // by rank
  std::vector<std::optional<Whereabouts>> whereabouts_;  // by rank
  // How far the clock of a host is ahead of the head's, as its agent says. Messages arrive later
  // than they were sent, so the clock is ahead by at_least(): of the last minutes, since it drifts.
  struct ClockAhead {
    std::optional<ClockAlignment::Estimate> told;
    Duration before = Duration::min(), current = Duration::min();
    TimePoint since{};

    Duration at_least() const { return std::max(current, before); }
  };
  std::vector<ClockAhead> clocks_ahead_;  // by host
  std::optional<Baseline> baseline_;      // once the job has ended
  bool said_ = false;
};

}  // namespace paceline::launcher
