#include "launcher/head/preflight.h"

#include "comm/base/try.h"
#include "launcher/head/limits.h"

namespace paceline::launcher {

Status preflight(const JobSpec& job, const std::function<void(const std::string&)>& warn) {
  const HostLimits limits = read_limits(job);
  PACELINE_TRY(check_limits(limits, job));
  for (const std::string& warning : limit_warnings(limits, job)) warn("warning: " + warning);
  return Status();
}

}  // namespace paceline::launcher
