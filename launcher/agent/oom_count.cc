#include "launcher/agent/oom_count.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "comm/base/text.h"
#include "launcher/agent/oom_record.h"
#include "launcher/process/system.h"

namespace paceline::launcher {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool has(std::string_view list, std::string_view word) {
  for (const std::string_view item : split(list, ',')) {
    if (item == word) return true;
  }
  return false;
}

// mountinfo writes a space, a tab, a newline and a backslash as \ and three octal digits.
std::string unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const std::string_view digits = text.substr(std::min(i + 1, text.size()), 3);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 8);
    if (text[i] == '\\' && error == std::errc{} && end == digits.data() + 3) {
      plain += static_cast<char>(code);
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// The part of `path` that is seen in a mount of `root`: "" for the root itself.
std::optional<std::string> below(const std::string& path, const std::string& root) {
  if (root == "/") return path == "/" ? "" : path;
  if (path == root) return "";
  if (path.starts_with(root + "/")) return path.substr(root.size());
  return {};
}

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
  std::optional<MemoryCgroup> found;
  for (const std::string_view line : split(proc_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string path(line.substr(second + 1));
    if (has(controllers, "memory")) return MemoryCgroup{.unified = false, .path = path};
    if (line.starts_with("0::")) found = MemoryCgroup{.unified = true, .path = path};
  }
  // Outside of this process's cgroup namespace.
  if (found && found->path.starts_with("/..")) return {};
  return found;
}

std::optional<CgroupMount> memory_mount(std::string_view mountinfo, bool unified) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const auto mount = split(line.substr(0, dash), ' ');  // id parent device root point options…
    const auto system = split(line.substr(dash + 3), ' ');  // type source options
    if (mount.size() < 5 || system.size() < 3) continue;
    if (unified ? system[0] == "cgroup2" : system[0] == "cgroup" && has(system[2], "memory"))
      return CgroupMount{.root = unescape(mount[3]), .point = unescape(mount[4])};
  }
  return {};
}

std::optional<std::uint64_t> counter(std::string_view text, std::string_view name) {
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, ' ');
    if (words.size() == 2 && words[0] == name) return parse_number<std::uint64_t>(words[1]);
  }
  return {};
}

std::optional<OomCounts::Counted> OomCounts::count(const MemoryCgroup& cgroup) const {
  const auto mount = memory_mount(read_file(root_ + "/proc/self/mountinfo"), cgroup.unified);
  if (!mount) return {};
  Counted counted{.unified = cgroup.unified, .levels = {}, .kills = 0};
  for (std::string path = cgroup.path;; path = parent_of(path)) {
    const auto seen = below(path, mount->root);
    if (!seen) break;
    const std::string folder = root_ + mount->point + *seen;
    counted.levels.push_back({.path = path, .folder = folder, .limits_hit = limits_hit_in(folder)});
    if (path.size() <= 1) break;
  }
  if (counted.levels.empty()) return {};
  const auto kills = kills_in(counted.levels.front().folder, counted.unified);
  if (!kills) return {};
  counted.kills = *kills;
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
