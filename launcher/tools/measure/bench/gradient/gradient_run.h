// Who replays steps for `paceline bench gradient`, and jobs of their ranks that do it in turn.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/tools/measure/bench/gradient/gradient_options.h"
#include "launcher/tools/measure/probe/gradient/gradient_orders.h"
#include "launcher/tools/measure/probe/gradient/gradient_rows.h"

namespace paceline::launcher {

/// Where the ranks run, and how they come there.
struct GradientSite {
  std::string folder;  ///< where the project's programs are
  int ranks = 2;
  JobSpec job;  ///< without its program
};

/// Of the hosts that the user named: one rank on each where nothing else was said.
Result<GradientSite> gradient_site(const GradientRequest& request);

/// A value.
struct GradientContender {
  std::string name;
  std::string program;
  std::string reducer = "none";  ///< of the probe
  std::string codec = "none";
  int warm_ups = 1;  ///< steps until it does as it will

  bool operator==(const GradientContender&) const = default;
};

/// `name` as --measure and --against have it; `codec` is that of plain "paceline". Code::
/// kUnavailable says what is missing, and the Debian package.
Result<GradientContender> gradient_contender(const GradientSite& site, const std::string& name,
                                             const std::string& codec);

/// What the request and a contender together order.
probe::GradientOrders orders_of(const GradientRequest& request, const GradientContender& contender);

struct GradientProgram {
  std::string name;  ///< for messages
  std::string path;
  probe::GradientOrders orders;
};

/// Whose turn it is, by place, when so many of them have come to where they wait: each round begins
/// with another one, and in the last one averages are verified. Pure.
std::vector<std::size_t> gradient_turns(std::size_t programs, int rounds);

/// Called with the number of a turn when it begins, and whose it is.
using OnGradientTurn = std::function<void(std::size_t turn, std::size_t which)>;

/// Runs a job of each, all alive and one at work, to their ends; each has as many turns as its
/// orders say, which are the same for all. An error where one could not be started, has failed, or
/// where no step ended for much longer than `step_us`, which one is expected to take: why was said
/// on standard error then. adopt_orphans() must have been called.
Result<std::vector<probe::GradientJob>> run_gradient_jobs(const GradientSite& site,
                                                          std::span<const GradientProgram> programs,
                                                          double step_us,
                                                          const OnGradientTurn& on_turn);

}  // namespace paceline::launcher
