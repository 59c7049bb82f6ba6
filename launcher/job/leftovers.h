// What a job may leave on its host beside its folder.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

namespace paceline::launcher {

/// What the names of a job's shared-memory objects begin with.
std::string shared_memory_prefix(std::string_view job_id);

/// Removes the job's objects from `folder`, which is /dev/shm but in tests.
void remove_shared_memory(const std::string& folder, std::string_view job_id);

/// Kills processes of `user` that were started by the job's ranks: their environment names the
/// job's store. Spares the caller. For a job all of whose own processes were killed at once, so
/// that nobody has swept; reads the environment of every process of the user.
void kill_strays(std::string_view job_id, uid_t user);

}  // namespace paceline::launcher
