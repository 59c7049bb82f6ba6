// What a host is and allows, as its kernel shows it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace paceline::probe {

inline constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// Texts have no spaces, and are empty where the kernel does not tell; so are numbers 0, where
/// nothing else is said.
struct HostFacts {
  std::string boot_id;  ///< the same one: the same kernel, so the hosts share its CPUs
  int cpus_online = 0;
  int cpus_allowed = 0;  ///< by affinity
  double cpu_quota = 0;  ///< in CPUs; 0: none
  double load = 0;       ///< average over a minute, before anything is measured
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_available_bytes = 0;
  std::uint64_t memory_limit_bytes = kNoLimit;  ///< of the control groups
  std::uint64_t pids_limit = kNoLimit;          ///< of the control groups
  std::uint64_t memory_errors = 0;              ///< uncorrected, as EDAC has counted them
  int numa_nodes = 0;
  std::string numa_balancing;  ///< 0 or 1
  std::string governor;        ///< of CPU 0
  std::string smt;             ///< on, off, notsupported, …
  std::string thp;             ///< always, madvise or never
  std::uint64_t memlock_bytes = 0;
  std::uint64_t open_files = 0;  ///< the hard limit
  std::uint64_t shm_bytes = 0;
  std::uint64_t shm_free_bytes = 0;
  int shm_error = 0;  ///< why no file can be made in /dev/shm, as errno; 0: one can be made
  std::uint64_t tmp_free_bytes = kNoLimit;  ///< in /tmp; kNoLimit: not known
  std::uint64_t receive_buffer_bytes = 0;   ///< the most that TCP gives a connection by itself
  std::uint64_t send_buffer_bytes = 0;
  std::string rdma_device;  ///< the first one
  std::string device;       ///< of the network that was measured
  std::string driver;       ///< of that device; empty: it is made of software
  int mtu = 0;
  std::int64_t rate_mbit = 0;  ///< as the device states it
  int gpus = 0;                ///< of NVIDIA, which the driver reaches
  std::string gpu_models;      ///< with their numbers: "8xNVIDIA_H200"
  std::string gpu_error;       ///< why the driver does not tell: no_answer, crash, or NVML's number
  std::string lost_gpus;       ///< numbers of GPUs that the driver cannot reach: "0,3"
  std::uint64_t gpu_clock_limits = 0;   ///< harmful ones, as GpuFigure::kClockLimits has them
  std::string limited_gpus;             ///< that have them
  std::uint64_t gpu_memory_errors = 0;  ///< uncorrected, since the driver was loaded
  std::string gpus_with_errors;
  std::string narrow_gpus;  ///< with fewer PCIe lanes than their maximum: "3:x8/x16"
  int nvlinks = 0;          ///< that are up, each end counted

  /// What the link is rated at; nothing where it states no rate, or one that means nothing, as
  /// devices made of software do.
  std::optional<double> rating_bits_per_s() const;

  bool operator==(const HostFacts&) const = default;
};

/// Reads /proc and /sys below `root`, which is empty but for tests; `device` is the network device.
/// Fields that it does not read, as those of GPUs, are those of `known`.
HostFacts read_host_facts(const std::string& root, const std::string& device, HostFacts known = {});

/// The device that has a numeric address; empty where none has.
std::string device_of(const std::string& address);

/// Names and values, in the order of the fields.
std::vector<std::pair<std::string, std::string>> to_pairs(const HostFacts& facts);
/// The same as "name=value" words.
std::string to_text(const HostFacts& facts);
/// Words that are not known are passed over, values that are none, too.
HostFacts parse_host_facts(std::string_view text);

}  // namespace paceline::probe
