// What is written down of a lab, beside its other files. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/system/process_identity.h"
#include "launcher/tools/lab/lab_plan.h"

namespace paceline::launcher {

struct LabRecord {
  LabPlan plan;
  ProcessIdentity maker;   ///< `paceline lab up`, which is done when there is a keeper
  ProcessIdentity keeper;  ///< pid 0: there is none yet
  bool in_user_namespace = false;
  std::vector<ProcessIdentity> inits;  ///< one per host: its first process
  /// A folder of the lab's own in the hierarchy of version 2, and in that of the controller cpu
  /// where that is another; in each one for every host. Empty where this user may not make them.
  std::vector<std::string> cgroups;

  bool is_complete() const { return keeper.pid != 0; }
  bool operator==(const LabRecord&) const = default;
};

/// A line for each field: its name, a space, its value.
std::string to_text(const LabRecord& record);
/// Nothing where it is not what to_text() writes.
std::optional<LabRecord> parse_lab_record(std::string_view text);

}  // namespace paceline::launcher
