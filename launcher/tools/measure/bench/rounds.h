// Contenders in turn, each measuring for some milliseconds before the next does, so that a machine
// that drifts drifts under all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "launcher/tools/measure/bench/bench_options.h"
#include "launcher/tools/measure/bench/bench_report.h"
#include "launcher/tools/measure/bench/bench_run.h"
#include "launcher/tools/measure/bench/contender.h"

namespace paceline::launcher {

/// Everything is borrowed. Says on standard error how far it is.
class Rounds {
 public:
  using Warn = std::function<void(const std::string&)>;

  /// The first of the contenders is ours. Another one begins each round.
  Rounds(const std::vector<Contender>& contenders, const BenchSite& site,
         const BenchRequest& request, Warn warn);

  /// An exit code: 0, or that of a contender that has failed, of which `warn` has heard. A peer
  /// that hangs is tried again.
  Result<int> run();

  /// As the contenders; complete after run() has returned 0.
  const std::vector<BenchSeries>& series() const { return series_; }
  /// A line on how it was.
  std::string summary() const;

 private:
  Result<std::vector<Measured>> try_once();
  void say_progress(std::size_t rows) const;

  const SystemClock clock_;
  const TimePoint begin_ = clock_.now();
  mutable TimePoint said_ = begin_;
  const Warn warn_;
  const std::vector<Contender>& contenders_;
  const BenchSite& site_;
  probe::Orders orders_;
  std::vector<BenchSeries> series_;
  int hangs_ = 0;
};

}  // namespace paceline::launcher
