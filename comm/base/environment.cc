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

bool parse_host_cpus(std::string_view text, Environment& into) {
  const auto cpus = CpuSet::parse(text);
  if (cpus) into.host_cpus = *cpus;
  return cpus.has_value();
}

constexpr int kMaxRank = 1 << 20;

constexpr Variable kVariables[] = {
    {"RANK", "0..WORLD_SIZE-1", "a world of one", "this rank",
     parse_int<&Environment::rank, 0, kMaxRank - 1>, Setter::kLauncher},
    {"WORLD_SIZE", "1..1048576", "a world of one", "number of ranks",
     parse_int<&Environment::world_size, 1, kMaxRank>, Setter::kLauncher},
    {"LOCAL_WORLD_SIZE", "1..1048576", "1", "ranks on this host; decides how waits spend the CPU",
     parse_int<&Environment::local_world_size, 1, kMaxRank>, Setter::kLauncher},
    {"PACELINE_LAUNCHED_AS", "RANK/WORLD_SIZE", "none",
     "this rank as the launcher numbers it, set by the launcher; a program may number its ranks "
     "otherwise",
     parse_text<&Environment::launched_as>, Setter::kLauncher},
    {"PACELINE_HOST_CPUS", "0-3,8", "this rank's affinity",
     "CPUs of all ranks on this host; decides how waits spend them", parse_host_cpus,
     Setter::kLauncher},
    {"MASTER_ADDR", "host name or address", "127.0.0.1",
     "host of rank 0, which serves the store where there is no launcher",
     parse_text<&Environment::master_addr>, Setter::kLauncher},
    {"MASTER_PORT", "1..65535", "none", "the store's port there",
     parse_int<&Environment::master_port, 1, 65535>, Setter::kLauncher},
    {"PACELINE_STORE", "unix:PATH or tcp:HOST:PORT", "MASTER_ADDR:MASTER_PORT",
     "rendezvous store of the job, set by the launcher", parse_text<&Environment::store>,
     Setter::kLauncher},
    {"PACELINE_JOB_ID", "word", "none", "the job's name, set by the launcher",
     parse_text<&Environment::job_id>, Setter::kLauncher},
    {"PACELINE_HOST", "word", "the kernel's host name", "name of this host in messages",
     parse_text<&Environment::host>, Setter::kLauncher},
    {"PACELINE_BIND_ADDRESS", "IPv4 or IPv6 address", "127.0.0.1",
     "address on which this rank accepts its peers", parse_text<&Environment::bind_address>,
     Setter::kLauncher},
    {"PACELINE_NET", "eth,=ib0,10.0.0.0/8,^docker,lo", "those that reach all hosts, fastest first",
     "interfaces for the job's data: names by their beginning, whole ones behind =, addresses, and "
     "behind ^ those that are not to be used",
     parse_net},
    {"NCCL_SOCKET_IFNAME", "as NCCL reads it", "none", "stands in for PACELINE_NET",
     parse_text<&Environment::nccl_socket_ifname>},
    {"GLOO_SOCKET_IFNAME", "whole names", "none", "stands in for both",
     parse_text<&Environment::gloo_socket_ifname>},
    {"PACELINE_JOB_KEY_FD", "descriptor", "none", "where the job's key is read, inherited",
     parse_int<&Environment::job_key_fd, 0, 1 << 20>, Setter::kLauncher},
    {"PACELINE_JOB_KEY_FILE", "path", "none",
     "file of mode 0600 with the job's key: 64 hexadecimal digits",
     parse_text<&Environment::job_key_file>, Setter::kLauncher},
    {"PACELINE_FLIGHT_FD", "descriptor", "none",
     "shared memory of this rank's flight ring, inherited",
     parse_int<&Environment::flight_fd, 0, 1 << 20>, Setter::kLauncher},
    {"PACELINE_TIMEOUT_S", "1..31536000", "300", "deadline of an operation, seconds",
     parse_seconds<&Environment::timeout_s>},
    {"PACELINE_STALL_S", "1..31536000", "30",
     "how long joining or an operation makes no progress before that is reported, seconds, and "
     "how often",
     parse_seconds<&Environment::stall_s>},
    {"PACELINE_LOG_LEVEL", "info, warning, error or off", "warning",
     "least severe lines that are written to standard error",
     parse_name<&Environment::log_level, kLogLevels>},
    {"PACELINE_BACKEND", "auto, shm or tcp", "auto",
     "over what ranks talk; auto: shared memory where they are on one host, else TCP",
     parse_name<&Environment::backend, kBackends>},
    {"PACELINE_SHM_METHOD", "auto, eager, gathered, pipelined or zero_copy", "auto",
     "how collective operations go through shared memory; the same on every rank; auto: the "
     "fastest; what a method cannot carry goes by another, and a warning says so",
     parse_shm_method},
    {"PACELINE_EXPLAIN", "0 or 1", "0",
     "1: rank 0 says by which method operations go through shared memory, and why, once for each "
     "kind and class of sizes",
     parse_flag<&Environment::explain>},
    {"PACELINE_TUNING", "path, or none", "what `paceline tune` has kept of this machine",
     "what was measured on this machine, by which methods are chosen",
     parse_text<&Environment::tuning>},
    {"PACELINE_ALGORITHM", "name of an algorithm", "chosen by cost",
     "algorithm for every operation that has one of this name",
     parse_text<&Environment::algorithm>},
    {"PACELINE_SEGMENT_BYTES", "64..1073741824", "chosen by the backend",
     "longest message of a pipelined algorithm, bytes", parse_segment},
    {"PACELINE_DETERMINISM", "fast, run_stable or placement_stable", "fast",
     "whether reductions give the same bits in every run, or even on any hosts",
     parse_name<&Environment::determinism, kDeterminisms>},
    {"PACELINE_TERMINAL", "0 or 1", "0", "1 where the launcher's output is a terminal",
     parse_flag<&Environment::terminal>, Setter::kLauncher},
};

}  // namespace

std::string_view word_of(ShmMethod method) { return kShmMethods[static_cast<std::size_t>(method)]; }

std::span<const Variable> environment_variables() { return kVariables; }

Result<Environment> read_environment(FunctionRef<const char*(const char*)> lookup) {
  Environment environment;
  for (const Variable& variable : kVariables) {
    const char* text = lookup(std::string(variable.name).c_str());
    if (text == nullptr || *text == '\0') continue;
    if (variable.parse(text, environment)) continue;
    return Status(Code::kInvalidArgument, Scope::kProcess,
                  std::string(variable.name) + "=" + text + " is not of the form " +
                      std::string(variable.form));
  }
  return environment;
}

Result<Environment> read_environment() {
  return read_environment([](const char* variable) { return std::getenv(variable); });
}

}  // namespace paceline
