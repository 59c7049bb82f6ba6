// What this machine and its administrator allow, against what a job needs: said before the job
// starts, with the number that is missing, rather than by a rank that dies of it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/options/job_spec.h"

namespace paceline::launcher {

inline constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

/// Where there is no limit: kUnlimited.
struct HostLimits {
  std::uint64_t descriptors = kUnlimited;   ///< of a process: RLIMIT_NOFILE, hard
  std::uint64_t processes = kUnlimited;     ///< of the user: RLIMIT_NPROC, where it applies
  std::uint64_t processes_running = 0;      ///< of the user; counted only where the limit is near
  std::uint64_t locked_bytes = kUnlimited;  ///< RLIMIT_MEMLOCK
  std::uint64_t shared_memory_bytes = kUnlimited;  ///< free in /dev/shm; 0: it is not there
  std::string remote_memory_device;  ///< an RDMA device, which locks what it sends; or empty
  std::string memory_file_error;     ///< why no flight ring can be made; empty: they can

  bool operator==(const HostLimits&) const = default;
};

/// Of this process's host.
HostLimits read_limits(const JobSpec& job);

/// How many descriptors the busiest process of the launcher holds at once: the agent.
std::uint64_t descriptors_needed(const JobSpec& job);
/// How many processes and threads the job begins with.
std::uint64_t processes_needed(const JobSpec& job);

/// Pure. An error where the job cannot start.
Status check_limits(const HostLimits& limits, const JobSpec& job);
/// Pure. What the job's programs may stumble over, a sentence each.
std::vector<std::string> limit_warnings(const HostLimits& limits, const JobSpec& job);

}  // namespace paceline::launcher
