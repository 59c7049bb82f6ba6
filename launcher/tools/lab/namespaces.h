// Namespaces by the kernel's calls: see namespaces(7), user_namespaces(7), setns(2).
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include <paceline/status.h>

#include "comm/base/clock.h"
#include "comm/base/function_ref.h"
#include "launcher/tools/lab/lab_record.h"

namespace paceline::launcher {

/// fork(2), with the child in new namespaces: `flags` are CLONE_NEW…. The caller has one thread.
Result<pid_t> fork_into_new(std::uint64_t flags);

/// In a new user namespace: this user is its root, and nobody else is known in it.
Status become_root_of_namespace(uid_t user, gid_t group);

/// This process joins what `process` is in: `flags` as above. A user namespace that it is in
/// already is left out. The working directory keeps its path; it is / where that is missing there.
/// A joined PID namespace is that of children only.
Status join_namespaces(const ProcessIdentity& process, int flags);

/// The flags of a host's or the switch's namespaces, for join_namespaces().
int host_namespaces(const LabRecord& record);
int switch_namespaces(const LabRecord& record);

/// Runs `body` in a child process that has joined the namespaces of `process`, and returns its
/// outcome. Killed after `patience`.
Status run_inside(const ProcessIdentity& process, int flags, Duration patience,
                  FunctionRef<Status()> body);

}  // namespace paceline::launcher
