#include "launcher/tools/measure/check/host_rules.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>

#include "launcher/tools/measure/check/host_rule.h"
#include "launcher/tools/measure/check/rate_table.h"
#include "launcher/tools/measure/text_format.h"

namespace paceline::launcher {
namespace {

using probe::HostFacts;
using probe::kNoLimit;
using probe::Measurements;

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr double kMiB = 1024.0 * 1024;
constexpr std::uint64_t kEnoughFiles = 4096;
constexpr std::uint64_t kEnoughSharedMemory = std::uint64_t{1} << 30;
constexpr std::uint64_t kEnoughSocketBuffer = std::uint64_t{4} << 20;
constexpr std::uint64_t kEnoughPids = 4096;
constexpr std::uint64_t kEnoughTemporary = std::uint64_t{256} << 20;
constexpr double kGB = 1e9;
constexpr double kAlikeMemorySpeed = 0.7;
constexpr double kLeastFreeMemory = 0.1;
constexpr double kAlikeMemory = 0.95;
constexpr double kClockUs = 10'000;
constexpr int kPlainMtu = 1500;
constexpr double kWorthLongFrames = 25e9;

std::string size_text(std::uint64_t bytes) {
  if (bytes == kNoLimit) return "unlimited";
  const auto value = static_cast<double>(bytes);
  return value >= kGiB ? text("%.1f GiB", value / kGiB) : text("%.1f MiB", value / kMiB);
}

std::string count_text(std::uint64_t count) {
  return count == kNoLimit ? "unlimited" : std::to_string(count);
}

std::string or_unknown(const std::string& found) { return found.empty() ? "not known" : found; }

Opinion cpus(const HostCase& at) {
  const int usual = at.usual(&HostFacts::cpus_allowed);
  return {
      .found = text("%d of %d", at.facts.cpus_allowed, at.facts.cpus_online),
      .expected = text("%d, like most hosts", usual),
      .fine = at.facts.cpus_allowed >= usual,
      .why = "every step waits for the slowest host",
      .advice = "check for offline CPUs, and the CPU affinity of the program that starts agents"};
}

Opinion quota(const HostCase& at) {
  const double found = at.facts.cpu_quota;
  return {.found = found > 0 ? text("%.2f CPUs", found) : "none",
          .expected = text("none, or at least %d", at.facts.cpus_allowed),
          .fine = found <= 0 || found >= at.facts.cpus_allowed,
          .why = "after the quota is used up, all threads stop for the rest of the period",
          .advice = "raise cpu.max (cpu.cfs_quota_us) of the job's control group"};
}

Opinion memory(const HostCase& at) {
  const std::uint64_t usual = at.usual(&HostFacts::memory_bytes);
  const auto found = static_cast<double>(at.facts.memory_bytes);
  return {.found = size_text(at.facts.memory_bytes),
          .expected = size_text(usual).append(", like most hosts"),
          .fine = found >= kAlikeMemory * static_cast<double>(usual),
          .why = "a job that fits on other hosts may not fit here",
          .advice = "check for failed memory modules, or leave the host out"};
}

Opinion free_memory(const HostCase& at) {
  const auto all = static_cast<double>(at.facts.memory_bytes);
  const auto left = static_cast<double>(at.facts.memory_available_bytes);
  return {.found = size_text(at.facts.memory_available_bytes),
          .expected = text("at least %.0f %% of it", 100 * kLeastFreeMemory),
          .fine = all <= 0 || left >= kLeastFreeMemory * all,
          .why = "the kernel kills a job that needs more",
          .advice = "check for other programs on the host"};
}

Opinion memory_limit(const HostCase& at) {
  return {.found = size_text(at.facts.memory_limit_bytes),
          .expected = "unlimited",
          .fine = at.facts.memory_limit_bytes == kNoLimit,
          .why = "the kernel kills a job that uses more, even if the host has free memory",
          .advice = "raise memory.max of the job's control group, or use less memory"};
}

Opinion memory_speed(const HostCase& at) {
  std::vector<double> speeds;
  double found = 0;
  for (const probe::Spin& spin : at.all.spins) {
    if (spin.copied_bytes_per_s > 0) speeds.push_back(spin.copied_bytes_per_s);
    if (spin.host == at.host) found = spin.copied_bytes_per_s;
  }
  const double usual = upper_median(std::move(speeds));
  return {.found = found > 0 ? text("%.1f GB/s", found / kGB) : "not known",
          .expected = text("at least %.1f GB/s, %.0f %% of most hosts",
                           kAlikeMemorySpeed * usual / kGB, 100 * kAlikeMemorySpeed),
          .fine = found <= 0 || found >= kAlikeMemorySpeed * usual,
          .why = "one thread copies memory slower than on other hosts",
          .advice = "check for other programs, missing memory modules and power limits"};
}

Opinion memory_errors(const HostCase& at) {
  return {.found = std::to_string(at.facts.memory_errors).append(" uncorrected"),
          .expected = "0 uncorrected",
          .fine = at.facts.memory_errors == 0,
          .why = "the kernel has counted memory errors that could not be corrected",
          .advice = "find the module in /sys/devices/system/edac/mc, and replace it"};
}

Opinion load(const HostCase& at) {
  return {.found = text("%.1f", at.facts.load),
          .expected = text("less than its %d CPUs", at.facts.cpus_online),
          .fine = at.facts.cpus_online <= 0 || at.facts.load < at.facts.cpus_online,
          .why = "other programs used all CPUs in the last minute, and measurements may be low",
          .advice = "check for other programs on the host (top)"};
}

Opinion temporary_files(const HostCase& at) {
  const std::uint64_t found = at.facts.tmp_free_bytes;
  return {.found = found == kNoLimit ? "not known" : size_text(found).append(" free"),
          .expected = size_text(kEnoughTemporary).insert(0, "at least "),
          .fine = found >= kEnoughTemporary,
          .why = "programs that cannot write temporary files fail in many ways",
          .advice = "delete files in /tmp"};
}

Opinion pids_limit(const HostCase& at) {
  return {.found = count_text(at.facts.pids_limit),
          .expected = text("at least %llu", static_cast<unsigned long long>(kEnoughPids)),
          .fine = at.facts.pids_limit >= kEnoughPids,
          .why = "each thread counts, and libraries start many",
          .advice = "raise pids.max of the job's control group"};
}

Opinion numa(const HostCase& at) {
  const int usual = at.usual(&HostFacts::numa_nodes);
  return {.found = text("%d nodes", at.facts.numa_nodes),
          .expected = text("%d, like most hosts", usual),
          .fine = at.facts.numa_nodes == usual,
          .why = "a binding has another meaning on this host",
          .advice = "compare the firmware's settings (NPS, SNC) with those of the others"};
}

Opinion numa_balancing(const HostCase& at) {
  const bool is_on = at.facts.numa_balancing == "1" && at.facts.numa_nodes > 1;
  return {.found = or_unknown(at.facts.numa_balancing),
          .expected = "0 with several nodes",
          .fine = !is_on,
          .why = "the kernel unmaps pages of bound threads to move them, which costs time",
          .advice = "sysctl kernel.numa_balancing=0"};
}

Opinion governor(const HostCase& at) {
  const std::string& found = at.facts.governor;
  return {.found = found.empty() ? "none" : found,
          .expected = "performance, or none",
          .fine = found.empty() || found == "performance",
          .why = "a CPU that waits for messages looks idle, and gets a lower frequency",
          .advice = "cpupower frequency-set -g performance"};
}

Opinion smt(const HostCase& at) {
  const std::string usual = at.usual(&HostFacts::smt);
  return {.found = or_unknown(at.facts.smt),
          .expected = or_unknown(usual).append(", like most hosts"),
          .fine = at.facts.smt == usual,
          .why = "the number of threads per core differs from other hosts",
          .advice = "/sys/devices/system/cpu/smt/control, or the firmware's setting"};
}

Opinion thp(const HostCase& at) {
  return {.found = or_unknown(at.facts.thp),
          .expected = "madvise or always",
          .fine = at.facts.thp != "never",
          .why = "large buffers cause many more page faults",
          .advice = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Opinion memlock(const HostCase& at) {
  const bool matters = !at.facts.rdma_device.empty();
  return {.found = size_text(at.facts.memlock_bytes),
          .expected = matters ? "unlimited" : "anything: there is no RDMA device",
          .fine = !matters || at.facts.memlock_bytes == kNoLimit,
          .why = "an RDMA device needs locked memory",
          .advice = "ulimit -l unlimited where agents start (limits.conf, LimitMEMLOCK)"};
}

Opinion open_files(const HostCase& at) {
  return {.found = count_text(at.facts.open_files),
          .expected = text("at least %llu", static_cast<unsigned long long>(kEnoughFiles)),
          .fine = at.facts.open_files >= kEnoughFiles,
          .why = "a rank has a connection to every other rank, an agent has some per rank",
          .advice = "raise the hard limit (limits.conf, LimitNOFILE)"};
}

Opinion shared_memory(const HostCase& at) {
  if (at.facts.shm_error != 0)
    return {.found = std::strerror(at.facts.shm_error),
            .expected = "files can be made",
            .fine = false,
            .why = "ranks of one host cannot share memory, and use TCP instead, which is slower",
            .advice = "mount -t tmpfs -o mode=1777 tmpfs /dev/shm, writable for all users"};
  const std::uint64_t enough = std::min(kEnoughSharedMemory, at.facts.memory_bytes / 8);
  return {.found = size_text(at.facts.shm_free_bytes).append(" free"),
          .expected = size_text(enough).insert(0, "at least "),
          .fine = at.facts.shm_free_bytes >= enough,
          .why = "ranks of one host communicate through it; the default in containers is 64 MiB",
          .advice = "mount -o remount,size=50% /dev/shm, or --shm-size of the container"};
}

Opinion socket_buffers(const HostCase& at) {
  const std::uint64_t found = std::min(at.facts.receive_buffer_bytes, at.facts.send_buffer_bytes);
  return {.found = size_text(found),
          .expected = size_text(kEnoughSocketBuffer).insert(0, "at least "),
          .fine = found == 0 || found >= kEnoughSocketBuffer,
          .why = "a connection cannot have more data in flight",
          .advice = "raise the last number of net.ipv4.tcp_rmem and tcp_wmem"};
}

Opinion mtu(const HostCase& at) {
  const int usual = at.usual(&HostFacts::mtu);
  const bool is_short =
      at.facts.mtu <= kPlainMtu && at.facts.rating_bits_per_s().value_or(0) >= kWorthLongFrames;
  const bool same = at.facts.mtu == usual;
  return {.found = at.facts.mtu > 0 ? std::to_string(at.facts.mtu) : "not known",
          .expected = same && is_short ? "9000 at this rate" : text("%d, like most hosts", usual),
          .fine = same && !is_short,
          .why = same ? "short frames need much CPU time at this rate"
                      : "packets longer than the peer's MTU are lost without an error",
          .advice = "ip link set dev DEVICE mtu N, the same on hosts and switches"};
}

Opinion nic_rate(const HostCase& at) {
  const std::int64_t usual = at.usual(&HostFacts::rate_mbit);
  const auto rated = [](std::int64_t mbit) {
    return mbit > 0 ? text("%lld Mbit/s", static_cast<long long>(mbit)) : "not stated";
  };
  const bool means_nothing = at.facts.driver.empty() || at.facts.rate_mbit <= 0;
  return {.found = means_nothing ? "not stated" : rated(at.facts.rate_mbit),
          .expected = means_nothing ? "like most hosts, if it is stated"
                                    : rated(usual).append(", like most hosts"),
          .fine = means_nothing || at.facts.rate_mbit >= usual,
          .why = "the link is slower than it should be",
          .advice = "check the cable, the transceiver and the port of the switch (ethtool DEVICE)"};
}

Opinion clock_offset(const HostCase& at) {
  const double tenths_ms = std::round(at.clock_us / 100);
  return {.found = tenths_ms == 0 ? "0.0 ms" : text("%+.1f ms", tenths_ms / 10),
          .expected = text("within %.0f ms of the first host", kClockUs / 1000),
          .fine = std::abs(at.clock_us) <= kClockUs,
          .why = "logs and traces of several hosts cannot be ordered by time",
          .advice = "run chrony or another NTP client there"};
}

constexpr HostRule kRules[] = {
    {"CPUs", cpus},
    {"CPU quota", quota},
    {"memory", memory},
    {"free memory", free_memory},
    {"memory limit", memory_limit},
    {"memory speed", memory_speed},
    {"memory errors", memory_errors},
    {"load", load},
    {"threads", pids_limit},
    {"NUMA", numa},
    {"NUMA balancing", numa_balancing},
    {"governor", governor},
    {"SMT", smt},
    {"huge pages", thp},
    {"memlock", memlock},
    {"open files", open_files},
    {"/dev/shm", shared_memory},
    {"/tmp", temporary_files},
    {"socket buffers", socket_buffers},
    {"MTU", mtu, About::kNetwork},
    {"NIC rate", nic_rate, About::kNetwork},
    {"clock", clock_offset, About::kNetwork},
};

Finding finding_by(const HostRule& rule, const HostCase& at) {
  Opinion opinion = rule.judge(at);
  return {.host = at.all.hosts[static_cast<std::size_t>(at.host)],
          .what = rule.what,
          .found = std::move(opinion.found),
          .expected = std::move(opinion.expected),
          .fine = opinion.fine,
          .why = std::move(opinion.why),
          .advice = opinion.fine ? "" : std::move(opinion.advice)};
}

}  // namespace

std::vector<Finding> find_on_hosts(const Measurements& measured) {
  std::vector<Finding> findings;
  if (measured.facts.size() != measured.hosts.size()) return findings;
  const std::vector<double> clocks = clock_offsets_us(measured);
  const bool has_gpus = std::ranges::any_of(measured.facts, [](const HostFacts& one) {
    return one.gpus > 0 || !one.gpu_error.empty() || !one.lost_gpus.empty();
  });
  for (std::size_t host = 0; host < measured.hosts.size(); ++host) {
    const HostCase at{.all = measured,
                      .host = static_cast<int>(host),
                      .facts = measured.facts[host],
                      .clock_us = clocks[host]};
    for (const HostRule& rule : kRules)
      if (measured.hosts.size() > 1 || rule.about != About::kNetwork)
        findings.push_back(finding_by(rule, at));
    if (!has_gpus) continue;
    for (const HostRule& rule : gpu_rules()) findings.push_back(finding_by(rule, at));
  }
  return findings;
}

std::vector<double> clock_offsets_us(const Measurements& measured) {
  // Dijkstra's: the way of the least doubt, which is the sum of latencies.
  const std::size_t hosts = measured.hosts.size();
  std::vector<double> offsets(hosts, 0);
  std::vector<double> doubts(hosts, HUGE_VAL);
  std::vector<bool> done(hosts, false);
  if (hosts > 0) doubts[0] = 0;
  for (std::size_t step = 0; step < hosts; ++step) {
    std::size_t nearest = hosts;
    for (std::size_t host = 0; host < hosts; ++host)
      if (!done[host] && std::isfinite(doubts[host]) &&
          (nearest == hosts || doubts[host] < doubts[nearest]))
        nearest = host;
    if (nearest == hosts) break;
    done[nearest] = true;
    for (const probe::Latency& one : measured.latencies) {
      const auto from = static_cast<std::size_t>(one.from), to = static_cast<std::size_t>(one.to);
      if (from != nearest && to != nearest) continue;
      const std::size_t other = from == nearest ? to : from;
      if (doubts[nearest] + one.best_us >= doubts[other]) continue;
      doubts[other] = doubts[nearest] + one.best_us;
      offsets[other] =
          offsets[nearest] + (from == nearest ? one.clock_offset_us : -one.clock_offset_us);
    }
  }
  return offsets;
}

}  // namespace paceline::launcher
