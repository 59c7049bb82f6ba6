// What a job may leave on its host beside its folder.
#pragma once

#include <string>
#include <string_view>

#include <sys/types.h>

namespace paceline::launcher {

/// What the names of a job's shared-memory objects begin with.
std::string shared_memory_prefix(std::string_view job_id);

/// What the name of a job's cgroup is.
std::string cgroup_name(std::string_view job_id);

/// Where they are.
struct Leftovers {
  std::string job_id;
  std::string shared_memory;  ///< the folder of such objects: /dev/shm but in tests
  std::string cgroup;         ///< the job's own, or empty
};

/// The job's processes have gone, or are going.
void remove_leftovers(const Leftovers& left);

/// Kills what is in the job's cgroup, and the processes of `user` that were started by the job's
/// ranks: their environment names the job's store. Spares the caller. For a job all of whose own
/// processes were killed at once, so that nobody has swept; reads the environment of every process
/// of the user.
void kill_strays(const Leftovers& left, uid_t user);

}  // namespace paceline::launcher
