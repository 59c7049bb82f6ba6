#include "launcher/head/limits.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "comm/base/try.h"
#include "telemetry/flight_ring.h"

namespace paceline::launcher {
namespace {

namespace fs = std::filesystem;

// What an agent holds for a rank: the reading ends of its two pipes and its connection to the
// store, and, until the spawn helper has taken them, the five descriptors that the rank begins
// with (launcher/agent/spawn_helper.h).
constexpr std::uint64_t kDescriptorsPerRank = 2 + 1 + 5;
constexpr std::uint64_t kOutputFilesPerRank = 2;
// What it holds anyway: sockets to head and helper, event loop, store, key, and what libraries
// open.
constexpr std::uint64_t kDescriptorsOfAgent = 64;
// Agent, spawn helper, what watches over them, and the agent's threads.
constexpr std::uint64_t kProcessesOfLauncher = 6;
// Nobody has this many beside the job: below, the user's processes are counted.
constexpr std::uint64_t kAmpleProcesses = 8192;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSharedBytesPerRank = 4 * kMiB;
constexpr std::uint64_t kLockedBytes = 64 << 10;  // what Linux allowed everybody until 5.16
constexpr std::uint64_t kLockedBytesRemote = 1024 * kMiB;

Status exhausted(const std::string& text) {
  return Status(Code::kExhausted, Scope::kProcess, text);
}

std::string size_text(std::uint64_t bytes) {
  return bytes < kMiB ? std::to_string(bytes >> 10) + " KiB"
                      : std::to_string(bytes / kMiB) + " MiB";
}

rlimit limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0)
    return {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
  return limit;
}

std::uint64_t or_unlimited(rlim_t limit) { return limit == RLIM_INFINITY ? kUnlimited : limit; }

// Root and whoever has one of two capabilities are exempt (fork(2), EAGAIN).
bool process_limit_applies() {
  constexpr std::uint64_t kAdministrator = 1u << 21, kResources = 1u << 24;
  if (::getuid() == 0) return false;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "CapEff:") continue;
    std::uint64_t capabilities = 0;
    status >> std::hex >> capabilities;
    return (capabilities & (kAdministrator | kResources)) == 0;
  }
  return true;
}

// Threads count as processes do.
std::uint64_t count_own_processes() {
  std::uint64_t count = 0;
  std::error_code gone;  // processes end while they are counted
  for (fs::directory_iterator at("/proc", gone), end; !gone && at != end; at.increment(gone)) {
    struct stat owner {};
    const std::string path = at->path().string();
    const bool is_process = path.find_first_not_of("0123456789", 6) == std::string::npos;
    if (!is_process || ::stat(path.c_str(), &owner) != 0 || owner.st_uid != ::getuid()) continue;
    struct stat tasks {};
    const bool there = ::stat((path + "/task").c_str(), &tasks) == 0;
    count += there ? tasks.st_nlink - 2 : 1;  // a folder for each thread
  }
  return count;
}

std::string first_remote_memory_device() {
  std::error_code none;
  const fs::directory_iterator devices("/sys/class/infiniband", none);
  return none || devices == fs::directory_iterator() ? "" : devices->path().filename().string();
}

std::uint64_t free_shared_memory() {
  struct statvfs status {};
  if (::statvfs("/dev/shm", &status) != 0) return 0;
  return std::uint64_t{status.f_bavail} * status.f_frsize;
}

std::string ranks_need(const JobSpec& job) {
  return std::to_string(job.ranks()) + (job.ranks() == 1 ? " rank needs " : " ranks need ");
}

Status check_descriptors(const HostLimits& limits, const JobSpec& job) {
  if (const std::uint64_t needed = descriptors_needed(job); limits.descriptors < needed)
    return exhausted(ranks_need(job) + std::to_string(needed) +
                     " file descriptors, but the limit is " + std::to_string(limits.descriptors) +
                     " (`ulimit -Hn`); raise it with `ulimit -n " + std::to_string(needed) +
                     "`, as root or in /etc/security/limits.conf, or ask for fewer ranks");
  return Status();
}

Status check_processes(const HostLimits& limits, const JobSpec& job) {
  const std::uint64_t needed = processes_needed(job);
  if (limits.processes >= needed && limits.processes - needed >= limits.processes_running)
    return Status();
  return exhausted(ranks_need(job) + std::to_string(needed) + " processes, but the limit is " +
                   std::to_string(limits.processes) + " (`ulimit -u`) and " +
                   std::to_string(limits.processes_running) +
                   " are in use; raise `ulimit -u`, or ask for fewer ranks");
}

}  // namespace

HostLimits read_limits(const JobSpec& job) {
  HostLimits limits;
  limits.descriptors = or_unlimited(limit_of(RLIMIT_NOFILE).rlim_max);
  if (process_limit_applies()) limits.processes = or_unlimited(limit_of(RLIMIT_NPROC).rlim_cur);
  if (limits.processes < processes_needed(job) + kAmpleProcesses)
    limits.processes_running = count_own_processes();
  limits.locked_bytes = or_unlimited(limit_of(RLIMIT_MEMLOCK).rlim_cur);
  limits.shared_memory_bytes = free_shared_memory();
  limits.remote_memory_device = first_remote_memory_device();
  if (const auto memory = FlightRing::create_memory(); !memory.ok())
    limits.memory_file_error = memory.status().text();
  return limits;
}

std::uint64_t descriptors_needed(const JobSpec& job) {
  const std::uint64_t files = job.output_directory.empty() ? 0 : kOutputFilesPerRank;
  return kDescriptorsOfAgent +
         static_cast<std::uint64_t>(job.ranks()) * (kDescriptorsPerRank + files);
}

std::uint64_t processes_needed(const JobSpec& job) {
  return kProcessesOfLauncher + static_cast<std::uint64_t>(job.ranks());
}

Status check_limits(const HostLimits& limits, const JobSpec& job) {
  PACELINE_TRY(check_descriptors(limits, job));
  PACELINE_TRY(check_processes(limits, job));
  if (limits.memory_file_error.empty()) return Status();
  return exhausted("cannot create memory for the ranks' flight rings: " + limits.memory_file_error +
                   "; the kernel or container must allow memfd_create");
}

std::vector<std::string> limit_warnings(const HostLimits& limits, const JobSpec& job) {
  std::vector<std::string> warnings;
  const std::uint64_t shared = kSharedBytesPerRank * static_cast<std::uint64_t>(job.ranks());
  if (job.ranks() > 1 && limits.shared_memory_bytes < shared)
    warnings.push_back("/dev/shm has " + size_text(limits.shared_memory_bytes) + " free for " +
                       std::to_string(job.ranks()) +
                       " ranks; programs that share memory there may fail. Mount it larger "
                       "(docker: --shm-size=1g)");
  const bool remote = !limits.remote_memory_device.empty();
  if (limits.locked_bytes < (remote ? kLockedBytesRemote : kLockedBytes))
    warnings.push_back(
        "only " + size_text(limits.locked_bytes) + " of memory can be locked (`ulimit -l`)" +
        (remote ? ", which may be too little for device " + limits.remote_memory_device
                : std::string()) +
        "; drivers of fast networks and accelerators may fail. Raise it to unlimited");
  return warnings;
}

}  // namespace paceline::launcher
