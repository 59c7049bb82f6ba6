// The process that keeps a lab: the first of a PID namespace in which all its hosts are, so that
// the kernel ends everything with it. Its network namespace is the switch.
#pragma once

#include "comm/base/unique_fd.h"
#include "launcher/tools/lab/lab_site.h"
#include "launcher/tools/lab/namespaces.h"

namespace paceline::launcher {

/// The user who makes the lab, where the keeper is to be root of a user namespace.
struct LabUser {
  bool has_namespace = false;
  uid_t user = 0;
  gid_t group = 0;
};

/// Runs in new PID, network and mount namespaces (and a user namespace, where `user` says so).
/// Makes the switch and the hosts, says on `maker` how that went, and dies with it until it is
/// told there to stay, which it confirms. Keeps `record` open: the lab's lock.
[[noreturn]] void be_keeper(const LabSite& site, const LabUser& user, UniqueFd maker,
                            UniqueFd record);

}  // namespace paceline::launcher
