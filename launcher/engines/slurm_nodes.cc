#include "launcher/engines/slurm_nodes.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "comm/base/host_range.h"
#include "comm/base/text.h"
#include "comm/base/try.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kMostNodes = kMaxRanks;

Status wrong(std::string_view what, std::string_view text) {
  return Status(Code::kInvalidArgument, Scope::kOperation,
                std::string("'").append(printable(text.substr(0, 64))) + "' is not " +
                    std::string(what) + " in the form of Slurm");
}

}  // namespace

Result<std::vector<int>> expand_counts(std::string_view text) {
  std::vector<int> counts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const std::size_t open = std::min(part.find("(x"), part.size());
    std::optional<std::size_t> times = 1;
    if (open < part.size()) {
      if (!part.ends_with(')')) return wrong("a list of counts", text);
      times = parse_number<std::size_t>(part.substr(open + 2, part.size() - open - 3));
    }
    const auto count = parse_number<int>(part.substr(0, open));
    if (!count || *count < 1 || !times || *times > kMostNodes - counts.size())
      return wrong("a list of counts", text);
    counts.insert(counts.end(), *times, *count);
    begin = end + 1;
  }
  return counts;
}

Result<std::vector<HostSlots>> slurm_hosts(EnvironmentLookup lookup) {
  const char* const nodes = lookup("SLURM_JOB_NODELIST");
  if (nodes == nullptr)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "this is not inside a Slurm allocation; use salloc or sbatch");
  PACELINE_TRY_ASSIGN(std::vector<std::string> names, expand_hosts(nodes));
  const char* counts = has_slurm_tasks(lookup) ? lookup("SLURM_TASKS_PER_NODE") : nullptr;
  if (counts == nullptr) counts = lookup("SLURM_JOB_CPUS_PER_NODE");
  std::vector<int> slots;
  if (counts != nullptr) {
    PACELINE_TRY_ASSIGN(slots, expand_counts(counts));
  }
  std::vector<HostSlots> hosts;
  for (std::size_t i = 0; i < names.size(); ++i)
    hosts.push_back(
        {.name = names[i], .slots = i < slots.size() ? std::optional(slots[i]) : std::nullopt});
  return hosts;
}

bool has_slurm_tasks(EnvironmentLookup lookup) {
  return lookup("SLURM_NTASKS") != nullptr && lookup("SLURM_TASKS_PER_NODE") != nullptr;
}

Status check_het_groups(EnvironmentLookup lookup) {
  if (lookup("SLURM_JOB_NODELIST") != nullptr) return Status();
  for (const char* name : {"SLURM_JOB_NODELIST_HET_GROUP_0", "SLURM_JOB_NODELIST_PACK_GROUP_0"}) {
    const char* const nodes = lookup(name);
    if (nodes == nullptr) continue;
    return Status(Code::kInvalidArgument, Scope::kOperation,
                  "this Slurm allocation has het groups (" + std::string(name) + "=" +
                      printable(std::string_view(nodes).substr(0, 64)) +
                      "), and one step cannot start agents in all of them; name hosts by -H or "
                      "--hostfile with --engine ssh, or use --engine local for this host only");
  }
  return Status();
}

Status check_slurm_step(EnvironmentLookup lookup) {
  const char* const text = lookup("SLURM_STEP_NUM_TASKS");
  const auto tasks = parse_number<int>(text == nullptr ? "" : text);
  // With --pty only the first task has a shell that a user types into.
  if (!tasks || *tasks < 2 || lookup("SLURM_PTY_PORT") != nullptr) return Status();
  return Status(Code::kInvalidArgument, Scope::kOperation,
                "this is one of " + std::to_string(*tasks) +
                    " tasks of an srun step, and each would start the whole job; use srun -n1, "
                    "the batch script, or --engine local");
}

}  // namespace paceline::launcher
