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

Result<std::vector<HostSlots>> slurm_hosts(const char* (*lookup)(const char*)) {
  const char* const nodes = lookup("SLURM_JOB_NODELIST");
  if (nodes == nullptr)
    return Status(Code::kUnavailable, Scope::kOperation,
                  "this is not inside a Slurm allocation; use salloc or sbatch");
  PACELINE_TRY_ASSIGN(std::vector<std::string> names, expand_hosts(nodes));
  const char* counts = lookup("SLURM_NTASKS") == nullptr ? nullptr : lookup("SLURM_TASKS_PER_NODE");
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

}  // namespace paceline::launcher
