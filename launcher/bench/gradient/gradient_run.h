// Who replays steps for `paceline bench gradient`, and a job of its ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/bench/gradient/gradient_options.h"
#include "launcher/probe/gradient/gradient_orders.h"
#include "launcher/probe/gradient/gradient_rows.h"

namespace paceline::launcher {

/// Where the ranks run, and how they come there.
struct GradientSite {
  std::string folder;  ///< where the project's programs are
  int ranks = 2;
  std::vector<std::string> launcher;  ///< words before the program
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

/// Runs a job to its end. An error where it could not be started, has failed, or where no step
/// ended for much longer than `step_us`, which one is expected to take: why was said on standard
/// error then. adopt_orphans() must have been called.
Result<probe::GradientJob> run_gradient_job(const GradientSite& site, const std::string& program,
                                            probe::GradientOrders orders, double step_us);

}  // namespace paceline::launcher
