// The environment variables of a rank. Pure, but for inherited_environment().
//
// From weak to strong: what the agent inherited, what the launcher suggests, -x, and the rank's
// identity. So a user's tunables are never overwritten, and rank identity always is.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "comm/base/cpu_set.h"
#include "comm/base/function_ref.h"
#include "launcher/channel/messages.pb.h"

namespace paceline::launcher {

using Variables = google::protobuf::RepeatedPtrField<messages::Variable>;

void add_variable(Variables& variables, std::string_view name, std::string value);
void add_variable(Variables& variables, std::string_view name, int value);

/// What an agent knows beside its Start.
struct HostFacts {
  int allowed_cpus = 1;
  messages::Meeting meeting;
};

/// What the host's ranks are bound to, together; empty where some rank is bound to nothing.
CpuSet host_cpus(const messages::Start& start);

/// What holds unless the user set it: OMP_NUM_THREADS, where rank 0 may serve, and, on several
/// hosts, the address and interface for data.
/// `is_set` tells what the ranks would inherit.
Variables suggested_variables(const messages::Start& start, const HostFacts& facts,
                              FunctionRef<bool(std::string_view)> is_set);

/// Those of `suggested` that neither `changes` nor what was there before set.
Variables unless_set(const Variables& suggested, const Variables& changes,
                     FunctionRef<const char*(const char*)> base);

/// The variables that identify a rank and its job, by the names of torchrun, of Open MPI, and of
/// the project. Services add theirs (rank_service.h).
Variables identity_variables(const messages::Start& start, const HostFacts& facts, int local_rank);

/// "NAME=value" strings, each name once; `changes` win over `base`, later ones over earlier.
std::vector<std::string> merge_environment(std::vector<std::string> base, const Variables& changes);

/// The value of one variable by the same rule, where `base` looks up what was there before; null:
/// it is not set. Lives as long as what it is taken from.
const char* value_of(const char* name, const Variables& changes,
                     FunctionRef<const char*(const char*)> base);

/// The PATH in which the ranks' shell would look for programs.
std::string search_path(const Variables& changes);

/// This process's own.
std::vector<std::string> inherited_environment();

}  // namespace paceline::launcher
