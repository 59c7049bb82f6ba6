// Every environment variable that libpaceline reads: typed, documented, read once.
//
// The table behind environment_variables() is the only place that knows names and forms; code
// above is handed an Environment. Programs that set variables for others (the launcher) take the
// names from here.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <paceline/status.h>
#include <paceline/types.h>

#include "comm/base/ablation.h"
#include "comm/base/cpu_set.h"
#include "comm/base/function_ref.h"
#include "comm/base/port_range.h"

namespace paceline {

/// How severe a line of the log must be to be written (telemetry/log.h).
enum class LogLevel : std::uint8_t { kInfo, kWarning, kError, kOff };

/// Over what the ranks talk: shared memory where all are on one host and TCP otherwise, or this and
/// nothing else.
enum class BackendChoice : std::uint8_t { kAuto, kShm, kTcp };

/// How an operation is carried out directly in shared memory (collectives/backend/shm/method.h).
enum class ShmMethod : std::uint8_t { kEager, kGathered, kPipelined, kZeroCopy };
/// As PACELINE_SHM_METHOD has it.
std::string_view word_of(ShmMethod method);

struct Environment {
  std::optional<int> rank;                  // RANK
  std::optional<int> world_size;            // WORLD_SIZE
  std::optional<int> local_world_size;      // LOCAL_WORLD_SIZE
  std::string launched_as;                  // PACELINE_LAUNCHED_AS
  CpuSet host_cpus;                         // PACELINE_HOST_CPUS; empty: this rank's affinity
  std::string master_addr;                  // MASTER_ADDR
  std::optional<int> master_port;           // MASTER_PORT
  std::string store;                        // PACELINE_STORE
  std::string job_id;                       // PACELINE_JOB_ID
  std::string host;                         // PACELINE_HOST
  std::string bind_address;                 // PACELINE_BIND_ADDRESS
  std::string net;                          // PACELINE_NET, for net_choice.h
  PortRange port_range;                     // PACELINE_PORT_RANGE
  std::string nccl_socket_ifname;           // NCCL_SOCKET_IFNAME
  std::string gloo_socket_ifname;           // GLOO_SOCKET_IFNAME
  std::optional<int> job_key_fd;            // PACELINE_JOB_KEY_FD
  std::string job_key_file;                 // PACELINE_JOB_KEY_FILE
  std::optional<int> flight_fd;             // PACELINE_FLIGHT_FD
  std::optional<int> ledger_fd;             // PACELINE_LEDGER_FD
  std::chrono::seconds timeout_s{300};      // PACELINE_TIMEOUT_S
  std::chrono::seconds stall_s{30};         // PACELINE_STALL_S
  LogLevel log_level = LogLevel::kWarning;  // PACELINE_LOG_LEVEL
  BackendChoice backend{};                  // PACELINE_BACKEND
  std::optional<ShmMethod> shm_method;      // PACELINE_SHM_METHOD; none: the fastest
  std::string tuning;                       // PACELINE_TUNING
  std::string algorithm;                    // PACELINE_ALGORITHM
  std::size_t segment_bytes = 0;            // PACELINE_SEGMENT_BYTES; 0: chosen by the backend
  Determinism determinism{};                // PACELINE_DETERMINISM
  bool integrity = false;                   // PACELINE_INTEGRITY
  bool explain = false;                     // PACELINE_EXPLAIN
  bool nccl = true;                         // PACELINE_NCCL
  Ablation ablation;                        // PACELINE_ABLATE
  bool terminal = false;                    // PACELINE_TERMINAL
};

/// The error of a variable that is missing or wrong.
Status setting_error(const std::string& what);

/// Who sets a variable: whoever starts the ranks says who and where they are, users what they like.
enum class Setter : std::uint8_t { kUser, kLauncher };

/// One row of the table.
struct Variable {
  std::string_view name;
  std::string_view form;      ///< "0..65535", "path", …
  std::string_view fallback;  ///< what holds when it is not set
  std::string_view meaning;
  /// Stores `text` into its field; false when it is not of the form.
  bool (*parse)(std::string_view text, Environment& into);
  Setter setter = Setter::kUser;
};

std::span<const Variable> environment_variables();

/// Parses all variables. `lookup` returns nullptr for what is not set; an empty value counts as
/// not set. An error names the variable, its value and the form it should have.
Result<Environment> read_environment(FunctionRef<const char*(const char*)> lookup);

/// The same from this process's environment.
Result<Environment> read_environment();

}  // namespace paceline
