#include "launcher/agent/oom_count.h"

#include <algorithm>
#include <utility>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/agent/oom_record.h"

namespace paceline::launcher {
namespace {

constexpr CgroupController kMemory = "memory";

std::string parent_of(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

std::optional<std::uint64_t> kills_in(const std::string& folder, bool unified) {
  if (!unified) return counter(read_file(folder + "/memory.oom_control"), "oom_kill");
  const auto local = counter(read_file(folder + "/memory.events.local"), "oom_kill");  // since 5.2
  return local ? local : counter(read_file(folder + "/memory.events"), "oom_kill");
}

// How often allocations failed at the limit of the cgroup itself.
std::uint64_t limits_hit_in(const std::string& folder) {
  const auto local = counter(read_file(folder + "/memory.events.local"), "oom");
  return local ? *local : counter(read_file(folder + "/memory.events"), "oom").value_or(0);
}

}  // namespace

std::optional<MemoryCgroup> memory_cgroup(std::string_view proc_cgroup) {
  if (const auto path = cgroup_path(proc_cgroup, kMemory))
    return MemoryCgroup{.unified = false, .path = *path};
  if (const auto path = cgroup_path(proc_cgroup, ""))
    return MemoryCgroup{.unified = true, .path = *path};
  return {};
}

std::optional<std::uint64_t> counter(std::string_view text, std::string_view name) {
  for (const std::string_view line : split_words(text, '\n')) {
    const auto words = split_words(line, ' ');
    if (words.size() == 2 && words[0] == name) return parse_number<std::uint64_t>(words[1]);
  }
  return {};
}

std::optional<OomCounts::Counted> OomCounts::count(const MemoryCgroup& cgroup) const {
  const auto mount =
      cgroup_mount(read_file(root_ + "/proc/self/mountinfo"), cgroup.unified ? "" : kMemory);
  if (!mount) return {};
  Counted counted{.unified = cgroup.unified, .levels = {}, .kills = 0};
  for (std::string path = cgroup.path;; path = parent_of(path)) {
    const auto seen = mount->folder_of(path);
    if (!seen) break;
    const std::string folder = root_ + *seen;
    counted.levels.push_back({.path = path, .folder = folder, .limits_hit = limits_hit_in(folder)});
    if (path.size() <= 1) break;
  }
  // A cgroup without the controller is part of the nearest above it that has one.
  const auto counts = std::find_if(
      counted.levels.begin(), counted.levels.end(),
      [unified = cgroup.unified](const Level& level) { return kills_in(level.folder, unified); });
  if (counts == counted.levels.end()) return {};
  counted.levels.erase(counted.levels.begin(), counts);
  counted.kills = kills_in(counted.levels.front().folder, counted.unified).value_or(0);
  return counted;
}

void OomCounts::started(pid_t pid) {
  processes_.erase(pid);
  const auto cgroup = memory_cgroup(read_file(root_ + "/proc/" + std::to_string(pid) + "/cgroup"));
  if (!cgroup) return;
  if (cgroups_.count(cgroup->path) == 0) {
    auto counted = count(*cgroup);
    if (!counted) return;
    cgroups_.emplace(cgroup->path, std::move(*counted));
  }
  processes_[pid] = cgroup->path;
}

std::optional<std::string> OomCounts::killed(pid_t pid) {
  const auto process = processes_.find(pid);
  if (process == processes_.end()) return {};
  Counted& counted = cgroups_.at(process->second);
  const auto kills = kills_in(counted.levels.front().folder, counted.unified);
  if (!kills || *kills <= counted.kills) return {};
  ++counted.kills;
  return limit_of(counted);
}

// The innermost cgroup whose limit was hit. Where there is none up to the hierarchy's true root,
// which has no counters, it was the host; in a container that root is out of sight.
std::string OomCounts::limit_of(const Counted& counted) const {
  const std::string& own = counted.levels.front().path;
  if (!counted.unified) return own;
  for (const Level& level : counted.levels) {
    if (limits_hit_in(level.folder) > level.limits_hit) return level.path;
  }
  const bool root_seen = !kills_in(counted.levels.back().folder, true);
  return root_seen ? std::string(kWholeHost) : own;
}

}  // namespace paceline::launcher
