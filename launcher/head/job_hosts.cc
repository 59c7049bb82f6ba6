#include "launcher/head/job_hosts.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "comm/base/clock.h"
#include "comm/base/text.h"
#include "comm/base/try.h"
#include "comm/base/unique_fd.h"
#include "launcher/engines/engine.h"
#include "launcher/engines/slurm_nodes.h"
#include "launcher/options/hostfile.h"
#include "launcher/system/host.h"
#include "topology/read/plan_json.h"

namespace paceline::launcher {
namespace {

constexpr const char* kSlurm = "slurm";
constexpr std::size_t kMaxHostfileBytes = std::size_t{1} << 20;
constexpr std::chrono::seconds kPipePatience{10};  // with a hostfile that is a pipe

Status unreadable(const std::string& file, const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "cannot read the hostfile '" + file + "': " + why);
}

// A pipe may have a writer who says nothing: `--hostfile <(…)`.
Status wait_readable(int fd, const std::string& file, Deadline deadline) {
  const SystemClock clock;
  pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline.left(clock.now()));
  if (::poll(&readable, 1, static_cast<int>(left.count())) != 0) return Status();
  return unreadable(file, "no data arrived within 10 s");
}

Result<std::string> read_hostfile(const std::string& file) {
  const SystemClock clock;
  const Deadline deadline = Deadline::after(clock, kPipePatience);
  const UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!fd) return unreadable(file, std::strerror(errno));
  std::string text;
  std::array<char, 16384> bytes;
  for (;;) {
    const ssize_t got = ::read(fd.get(), bytes.data(), bytes.size());
    if (got == 0) return text;
    if (got < 0 && errno == EAGAIN) {
      PACELINE_TRY(wait_readable(fd.get(), file, deadline));
      continue;
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(file, std::strerror(errno));
    text.append(bytes.data(), static_cast<std::size_t>(got));
    if (text.size() > kMaxHostfileBytes) return unreadable(file, "it is longer than 1 MiB");
  }
}

// This host is known by the name that it has itself.
Status use_own_name(const JobSpec& job, std::vector<HostSlots>& hosts) {
  for (HostSlots& host : hosts) {
    if (is_this_host(host.name)) {
      host.name = host_name();
    } else if (job.engine == kLocalEngine) {
      return Status(
          Code::kInvalidArgument, Scope::kOperation,
          "--engine local starts ranks on this host only, but " + host.name + " is another host");
    }
  }
  return Status();
}

}  // namespace

std::string engine_of(const JobSpec& job) {
  if (!job.engine.empty() || !job.launch_agent.empty()) return job.engine;
  return ::getenv("SLURM_JOB_NODELIST") != nullptr ? kSlurm : "ssh";
}

bool is_this_host(std::string_view name) {
  std::array<char, 256> whole{};
  if (::gethostname(whole.data(), whole.size() - 1) != 0) whole[0] = '\0';
  return name == host_name() || name == "localhost" || name == "127.0.0.1" || name == whole.data();
}

Result<std::vector<HostSlots>> named_hosts(const JobSpec& job) {
  if (!job.host_file.empty()) {
    PACELINE_TRY_ASSIGN(const std::string text, read_hostfile(job.host_file));
    return parse_hostfile(text, job.host_file);
  }
  if (job.hosts.empty() && engine_of(job) == kSlurm)
    return slurm_hosts([](const char* name) -> const char* { return ::getenv(name); });
  return job.hosts;
}

Result<std::vector<HostShare>> hosts_of(const JobSpec& job) {
  PACELINE_TRY_ASSIGN(std::vector<HostSlots> hosts, named_hosts(job));
  if (hosts.empty()) hosts.push_back({.name = host_name(), .slots = std::nullopt});
  PACELINE_TRY(use_own_name(job, hosts));
  return share_ranks(hosts, share_rules_of(job));
}

Result<std::vector<HostShare>> hosts_of_plan(const JobSpec& job, const std::string& plan_text) {
  const std::string& file = job.placement.plan_file;
  PACELINE_TRY_ASSIGN(const auto planned,
                      topology::read_plan_hosts({.name = file, .text = plan_text}));
  PACELINE_TRY_ASSIGN(std::vector<HostSlots> named, named_hosts(job));
  PACELINE_TRY(use_own_name(job, named));
  std::vector<HostSlots> hosts;
  for (const topology::PlanHost& host : planned)
    hosts.push_back({.name = host.name, .slots = host.ranks});
  PACELINE_TRY(use_own_name(job, hosts));
  std::vector<HostShare> shares;
  for (const HostSlots& host : hosts) {
    if (!named.empty() && std::ranges::find(named, host.name, &HostSlots::name) == named.end())
      return Status(Code::kInvalidArgument, Scope::kOperation,
                    file + ": it places ranks on host " + printable(host.name) +
                        ", which is not a host of this job");
    shares.push_back({.host = host.name, .ranks = *host.slots, .slots = *host.slots});
  }
  return shares;
}

}  // namespace paceline::launcher
