#include "launcher/system/binding.h"

#include <climits>
#include <cstddef>
#include <fstream>
#include <string_view>

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace paceline::launcher {
namespace {

constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;

void add(std::vector<unsigned long>& mask, std::size_t bit) {
  if (bit / kWordBits >= mask.size()) mask.resize(bit / kWordBits + 1);
  mask[bit / kWordBits] |= 1ul << bit % kWordBits;
}

// The system call, as no library that knows it is needed for more. It wants one bit more than the
// mask has.
bool set_memory_policy(int mode, const std::vector<unsigned long>& nodes) {
  return ::syscall(SYS_set_mempolicy, mode, nodes.data(), nodes.size() * kWordBits + 1) == 0;
}

// The value of a line "Name:\tvalue" of /proc/PID/status.
std::string status_value(const std::string& file, std::string_view name) {
  std::ifstream lines(file);
  std::string line;
  while (std::getline(lines, line)) {
    if (!line.starts_with(name)) continue;
    const std::size_t value = line.find_first_not_of(" \t", name.size());
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

// The policy of a line of numa_maps, behind the address: one word, but for "prefer (many):0".
std::string policy_of(const std::string& line) {
  constexpr std::string_view kTwoWords = "prefer (many)";
  const std::size_t at = line.find(' ');
  if (at == std::string::npos) return "";
  const std::string rest = line.substr(at + 1);
  const std::size_t from = rest.starts_with(kTwoWords) ? kTwoWords.size() : 0;
  return rest.substr(0, rest.find(' ', from));
}

}  // namespace

Binding::Binding(const CpuSet& cpus, const std::vector<int>& memory_nodes) {
  for (const std::size_t cpu : cpus.cpus()) add(cpus_, cpu);
  for (const int node : memory_nodes)
    if (node >= 0) add(nodes_, static_cast<std::size_t>(node));
}

void Binding::apply() const {
  // Not the C library's sched_setaffinity(), whose type is one of 1,024 CPUs.
  if (!cpus_.empty())
    ::syscall(SYS_sched_setaffinity, 0, cpus_.size() * sizeof(unsigned long), cpus_.data());
  if (!nodes_.empty()) prefer_nodes();
}

// Kernels before 5.15 know one preferred node; the first one is the best there.
void Binding::prefer_nodes() const {
  if (!set_memory_policy(MPOL_PREFERRED_MANY, nodes_)) set_memory_policy(MPOL_PREFERRED, nodes_);
}

std::optional<BoundTo> bound_to(pid_t pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  const std::string status = folder + "/status";
  // Who ends has lost its memory before its descriptors, and may have been ended before apply().
  if (status_value(status, "VmSize:").empty()) return std::nullopt;
  const auto cpus = CpuSet::parse(status_value(status, "Cpus_allowed_list:"));
  if (!cpus || cpus->is_empty()) return std::nullopt;
  std::ifstream maps(folder + "/numa_maps");
  std::string line;
  std::getline(maps, line);
  // The policy goes after the memory.
  if (status_value(status, "VmSize:").empty()) return std::nullopt;
  return BoundTo{.cpus = *cpus, .memory = policy_of(line)};
}

CpuSet preferred_nodes(const std::string& memory) {
  const std::size_t colon = memory.find(':');
  if (colon == std::string::npos) return {};
  return CpuSet::parse(memory.substr(colon + 1)).value_or(CpuSet());
}

}  // namespace paceline::launcher
