// Hosts that kept a job from starting, or that it has lost: for programs that start it again
// without them, like `paceline check`. Pure.
//
//   {"paceline_host_faults": 1,
//    "hosts": [{"name": "h4", "why": "no agent connected within 30 s", "or": ""}]}
#pragma once

#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::launcher {

struct HostFault {
  std::string host;
  std::string why;
  std::string or_host = {};  ///< that may be the reason instead; empty: none

  bool operator==(const HostFault&) const = default;
};

class HostFaults {
 public:
  /// The first one of each host counts.
  void add(HostFault fault);
  const std::vector<HostFault>& all() const { return faults_; }

 private:
  std::vector<HostFault> faults_;
};

std::string host_faults_json(const std::vector<HostFault>& faults);
/// Code::kInvalidArgument for any other text.
Result<std::vector<HostFault>> parse_host_faults(const std::string& text);

}  // namespace paceline::launcher
