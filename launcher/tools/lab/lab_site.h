// What the long-lived processes of a lab are told when they are forked.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "comm/base/clock.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

/// How long a step of making a lab may take on a machine that is busy.
inline constexpr Duration kLabPatience = std::chrono::seconds(20);

struct LabSite {
  LabPlan plan;
  std::string folder;                ///< the lab's
  std::vector<std::string> hidden;   ///< folders of the machine's own jobs
  std::vector<std::string> cgroups;  ///< as in LabRecord
  std::string ip;                    ///< where the programs lie
  std::string tc;
  std::string sshd;  ///< empty: without
};

}  // namespace paceline::launcher
