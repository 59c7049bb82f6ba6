// The first process of a host: it makes the host's side of everything, then reaps orphans until it
// is killed, and with it everything on the host.
#pragma once

#include "comm/base/unique_fd.h"
#include "launcher/tools/lab/lab_site.h"

namespace paceline::launcher {

/// Runs in new PID, network, mount, UTS and IPC namespaces. Waits on `keeper` until its links are
/// there, and says so there when it has made the rest.
[[noreturn]] void be_host(const LabSite& site, int host, UniqueFd keeper);

/// Reaps what becomes a child of this process, for ever.
[[noreturn]] void reap_orphans();

}  // namespace paceline::launcher
