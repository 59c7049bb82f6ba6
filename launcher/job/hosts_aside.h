// Hosts that failed a job and get none of its ranks for some time, with the evidence. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/clock.h"

namespace paceline::launcher {

/// A value.
class HostsAside {
 public:
  /// Until then. A later call for the same host replaces an earlier one.
  void add(const std::string& host, const std::string& why, TimePoint until);
  bool has(std::string_view host, TimePoint now) const;
  /// "host b (the agent is gone), host c (…)", of those that are aside at this time; may be empty.
  std::string text(TimePoint now) const;

 private:
  struct Aside {
    std::string host;
    std::string why;
    TimePoint until;
  };

  std::vector<Aside> hosts_;
};

}  // namespace paceline::launcher
