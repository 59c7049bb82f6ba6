#include "comm/base/environment.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <type_traits>

#include "comm/base/net_choice.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

template <class T>
bool parse_within(std::string_view text, T low, T high, T& into) {
  const auto value = parse_number<T>(text);
  if (!value || *value < low || *value > high) return false;
  into = *value;
  return true;
}

template <std::optional<int> Environment::*Field, int Low, int High>
bool parse_int(std::string_view text, Environment& into) {
  int value = 0;
  if (!parse_within(text, Low, High, value)) return false;
  into.*Field = value;
  return true;
}

template <std::string Environment::*Field>
bool parse_text(std::string_view text, Environment& into) {
  into.*Field = text;
  return true;
}

template <std::chrono::seconds Environment::*Field>
bool parse_seconds(std::string_view text, Environment& into) {
  long seconds = 0;
  if (!parse_within(text, 1l, 31'536'000l, seconds)) return false;
  into.*Field = std::chrono::seconds(seconds);
  return true;
}

// As the enumerations count.
constexpr std::string_view kLogLevels[] = {"info", "warning", "error", "off"};
constexpr std::string_view kBackends[] = {"auto", "shm", "tcp"};
constexpr std::string_view kShmMethods[] = {"eager", "gathered", "pipelined", "zero_copy"};
constexpr std::string_view kDeterminisms[] = {"fast", "run_stable", "placement_stable"};

template <auto Field, const auto& Names>
bool parse_name(std::string_view text, Environment& into) {
  const auto* const found = std::find(std::begin(Names), std::end(Names), text);
  if (found == std::end(Names)) return false;
  into.*Field = static_cast<std::decay_t<decltype(into.*Field)>>(found - std::begin(Names));
  return true;
}

bool parse_segment(std::string_view text, Environment& into) {
  return parse_within<std::size_t>(text, 64, std::size_t{1} << 30, into.segment_bytes);
}

template <bool Environment::*Field>
bool parse_flag(std::string_view text, Environment& into) {
  into.*Field = text == "1";
  return text == "0" || text == "1";
}

bool parse_shm_method(std::string_view text, Environment& into) {
  into.shm_method.reset();
  const auto* const found = std::find(std::begin(kShmMethods), std::end(kShmMethods), text);
  if (found == std::end(kShmMethods)) return text == "auto";
  into.shm_method = static_cast<ShmMethod>(found - std::begin(kShmMethods));
  return true;
}

bool parse_net(std::string_view text, Environment& into) {
  into.net = text;
  return NetChoice::parse(text, NetDialect::kPaceline).ok();
}

bool parse_ablation(std::string_view text, Environment& into) {
  const auto ablation = Ablation::parse(text);
  if (ablation) into.ablation = *ablation;
  return ablation.has_value();
}

bool parse_port_range(std::string_view text, Environment& into) {
  const auto range = PortRange::parse(text);
  if (range) into.port_range = *range;
  return range.has_value();
}

bool parse_host_cpus(std::string_view text, Environment& into) {
  const auto cpus = CpuSet::parse(text);
  if (cpus) into.host_cpus = *cpus;
  return cpus.has_value();
}

constexpr int kMaxRank = 1 << 20;

constexpr Variable kVariables[] = {
    {"RANK", "0..WORLD_SIZE-1", "0, the only rank", "number of this rank",
     parse_int<&Environment::rank, 0, kMaxRank - 1>, Setter::kLauncher},
    {"WORLD_SIZE", "1..1048576", "1", "number of ranks; at most 4096 can join",
     parse_int<&Environment::world_size, 1, kMaxRank>, Setter::kLauncher},
    {"LOCAL_WORLD_SIZE", "1..1048576", "WORLD_SIZE",
     "number of ranks on this host; ranks poll while they wait only if the host has a CPU for each "
     "rank",
     parse_int<&Environment::local_world_size, 1, kMaxRank>, Setter::kLauncher},
    {"PACELINE_LAUNCHED_AS", "RANK/WORLD_SIZE", "none",
     "rank and number of ranks as the launcher counts them; a program may number its ranks in "
     "another way",
     parse_text<&Environment::launched_as>, Setter::kLauncher},
    {"PACELINE_HOST_CPUS", "a CPU list like 0-3,8", "CPUs of this rank's affinity mask",
     "CPUs of all ranks on this host; ranks poll while they wait only if there is a CPU for each "
     "rank",
     parse_host_cpus, Setter::kLauncher},
    {"MASTER_ADDR", "a host name or address", "127.0.0.1",
     "host of rank 0, which serves the store if there is no launcher",
     parse_text<&Environment::master_addr>, Setter::kLauncher},
    {"MASTER_PORT", "1..65535", "none", "port of the store at MASTER_ADDR",
     parse_int<&Environment::master_port, 1, 65535>, Setter::kLauncher},
    {"PACELINE_STORE", "unix:PATH or tcp:HOST:PORT", "MASTER_ADDR:MASTER_PORT",
     "rendezvous store of the job, set by the launcher", parse_text<&Environment::store>,
     Setter::kLauncher},
    {"PACELINE_JOB_ID", "a word", "none", "id of the job, set by the launcher",
     parse_text<&Environment::job_id>, Setter::kLauncher},
    {"PACELINE_HOST", "a word", "the kernel's host name", "name of this host in messages",
     parse_text<&Environment::host>, Setter::kLauncher},
    {"PACELINE_BIND_ADDRESS", "an IPv4 or IPv6 address",
     "the first address that PACELINE_NET selects, or else 127.0.0.1",
     "address at which this rank listens for its peers. On several hosts without `paceline run`, "
     "set this variable or PACELINE_NET on every rank",
     parse_text<&Environment::bind_address>, Setter::kLauncher},
    {"PACELINE_NET", "a list like eth,=ib0,10.0.0.0/8,^docker,lo",
     "all interfaces that reach all hosts, the fastest first",
     "network interfaces for the job's data: prefixes of names, whole names after =, addresses or "
     "networks; ^ excludes all entries that follow it",
     parse_net},
    {"PACELINE_PORT_RANGE", "FIRST-LAST, from 1 to 65535", "ports that the kernel chooses",
     "TCP ports on which `paceline run`, its agents and the ranks listen, on every host",
     parse_port_range},
    {"NCCL_SOCKET_IFNAME", "a list in NCCL's format", "none", "used if PACELINE_NET is not set",
     parse_text<&Environment::nccl_socket_ifname>},
    {"GLOO_SOCKET_IFNAME", "a list of whole names", "none",
     "used if neither PACELINE_NET nor NCCL_SOCKET_IFNAME is set",
     parse_text<&Environment::gloo_socket_ifname>},
    {"PACELINE_JOB_KEY_FD", "a descriptor number", "none",
     "inherited descriptor from which the job's key is read",
     parse_int<&Environment::job_key_fd, 0, 1 << 20>, Setter::kLauncher},
    {"PACELINE_JOB_KEY_FILE", "a path", "none",
     "file with the job's key: 64 hexadecimal digits, mode 0600",
     parse_text<&Environment::job_key_file>, Setter::kLauncher},
    {"PACELINE_FLIGHT_FD", "a descriptor number", "none",
     "inherited descriptor of this rank's flight ring in shared memory",
     parse_int<&Environment::flight_fd, 0, 1 << 20>, Setter::kLauncher},
    {"PACELINE_LEDGER_FD", "a descriptor number", "none",
     "inherited descriptor of this rank's step ledger in shared memory",
     parse_int<&Environment::ledger_fd, 0, 1 << 20>, Setter::kLauncher},
    {"PACELINE_TIMEOUT_S", "1..31536000", "300", "timeout of an operation, in seconds",
     parse_seconds<&Environment::timeout_s>},
    {"PACELINE_STALL_S", "1..31536000", "30",
     "seconds without progress after which a warning reports that joining or an operation stalls; "
     "the warning repeats at this interval",
     parse_seconds<&Environment::stall_s>},
    {"PACELINE_LOG_LEVEL", "info, warning, error or off", "warning",
     "lowest severity of messages that are written to standard error",
     parse_name<&Environment::log_level, kLogLevels>},
    {"PACELINE_BACKEND", "auto, shm or tcp", "auto",
     "transport between ranks; auto: shared memory if all ranks are on one host, else TCP",
     parse_name<&Environment::backend, kBackends>},
    {"PACELINE_SHM_METHOD", "auto, eager, gathered, pipelined or zero_copy", "auto",
     "method of collective operations in shared memory, the same on every rank (auto: the "
     "fastest). Operations that the method cannot run use another one, with a warning",
     parse_shm_method},
    {"PACELINE_EXPLAIN", "0 or 1", "0",
     "1: rank 0 prints which shared-memory method or algorithm operations use, and why, once for "
     "each kind of operation and method or algorithm",
     parse_flag<&Environment::explain>},
    {"PACELINE_TUNING", "a path, or none", "the file that `paceline tune` saved for this machine",
     "file of measurements of this machine, by which shared-memory methods are chosen; none: no "
     "file",
     parse_text<&Environment::tuning>},
    {"PACELINE_ALGORITHM", "the name of an algorithm",
     "the algorithm with the lowest predicted cost",
     "algorithm of every operation that has one with this name. Any value also turns off direct "
     "shared memory, for all operations",
     parse_text<&Environment::algorithm>},
    {"PACELINE_SEGMENT_BYTES", "64..1073741824", "chosen by the backend",
     "max size of a message of a pipelined algorithm, in bytes", parse_segment},
    {"PACELINE_DETERMINISM", "fast, run_stable or placement_stable", "fast",
     "reproducibility of reductions: run_stable gives the same bits in every run, placement_stable "
     "also with any placement of the ranks on hosts",
     parse_name<&Environment::determinism, kDeterminisms>},
    {"PACELINE_INTEGRITY", "0 or 1", "0",
     "1: ranks verify that data over TCP arrives as it was sent, by a keyed checksum (AES-GMAC) of "
     "each 64 KiB; the same on every rank",
     parse_flag<&Environment::integrity>},
    {"PACELINE_NCCL", "0 or 1", "1",
     "0: NCCL does not carry out operations on GPU memory; 1: it does, if it can on every rank. "
     "PACELINE_LOG_LEVEL=info shows which",
     parse_flag<&Environment::nccl>},
    {"PACELINE_ABLATE", "comm, input or comm,input", "nothing",
     "parts that are left out to see how fast the job would be without their cost; results are "
     "wrong on purpose. Set by `paceline run --ablate`",
     parse_ablation, Setter::kLauncher},
    {"PACELINE_TERMINAL", "0 or 1", "0", "1 if the launcher's output is a terminal",
     parse_flag<&Environment::terminal>, Setter::kLauncher},
};

}  // namespace

Status setting_error(const std::string& what) {
  return Status(Code::kInvalidArgument, Scope::kProcess, what);
}

std::string_view word_of(ShmMethod method) { return kShmMethods[static_cast<std::size_t>(method)]; }

std::span<const Variable> environment_variables() { return kVariables; }

Result<Environment> read_environment(FunctionRef<const char*(const char*)> lookup) {
  Environment environment;
  for (const Variable& variable : kVariables) {
    const char* text = lookup(std::string(variable.name).c_str());
    if (text == nullptr || *text == '\0') continue;
    if (variable.parse(text, environment)) continue;
    return setting_error(std::string(variable.name) + "=" + text + " is not allowed; use " +
                         std::string(variable.form));
  }
  return environment;
}

Result<Environment> read_environment() {
  return read_environment([](const char* variable) { return std::getenv(variable); });
}

}  // namespace paceline
