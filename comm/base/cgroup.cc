#include "comm/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "comm/base/read_file.h"
#include "comm/base/text.h"

namespace paceline {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

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

// "MAX PERIOD" in microseconds, or "max PERIOD" where there is no limit.
double quota_of(std::string_view cpu_max) {
  const auto words = split_words(cpu_max.substr(0, cpu_max.find('\n')), ' ');
  if (words.size() != 2) return kNoLimit;
  const auto most = parse_number<double>(words[0]), period = parse_number<double>(words[1]);
  return most && period && *most > 0 && *period > 0 ? *most / *period : kNoLimit;
}

double quota_in(const std::string& folder, CgroupController controller) {
  if (controller.empty()) return quota_of(read_file(folder + "/cpu.max"));
  const std::string most = read_file(folder + "/cpu.cfs_quota_us");
  return quota_of(most.substr(0, most.find('\n')) + " " + read_file(folder + "/cpu.cfs_period_us"));
}

double least_quota(const std::string& root, CgroupController controller) {
  double least = kNoLimit;
  for (const std::string& folder : cgroup_folders("self", controller, root))
    least = std::min(least, quota_in(folder, controller));
  return least;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool has_word(std::string_view list, std::string_view word) {
  const auto items = split_words(list, ',');
  return std::find(items.begin(), items.end(), word) != items.end();
}

std::optional<std::string> CgroupMount::folder_of(const std::string& path) const {
  if (root == "/") return path == "/" ? point : point + path;
  if (path == root) return point;
  if (path.starts_with(root + "/")) return point + path.substr(root.size());
  return std::nullopt;
}

std::optional<CgroupMount> cgroup_mount(std::string_view mountinfo, CgroupController controller) {
  for (const std::string_view line : split_words(mountinfo, '\n')) {
    const std::size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    // id parent device root point options… - type source options
    const auto mount = split_words(line.substr(0, dash), ' ');
    const auto system = split_words(line.substr(dash + 3), ' ');
    if (mount.size() < 5 || system.size() < 3) continue;
    const bool is_it = controller.empty()
                           ? system[0] == "cgroup2"
                           : system[0] == "cgroup" && has_word(system[2], controller);
    if (is_it) return CgroupMount{.root = unescape(mount[3]), .point = unescape(mount[4])};
  }
  return std::nullopt;
}

std::optional<std::string> cgroup_path(std::string_view proc_cgroup, CgroupController controller) {
  // id:controllers:path, and 0::path of version 2
  for (const std::string_view line : split_words(proc_cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool is_it =
        controller.empty() ? line.starts_with("0::") : has_word(controllers, controller);
    const std::string_view path = line.substr(second + 1);
    if (is_it && !path.starts_with("/..")) return std::string(path);
  }
  return std::nullopt;
}

std::vector<std::string> cgroup_folders(const std::string& process, CgroupController controller,
                                        const std::string& root) {
  std::vector<std::string> folders;
  const auto mount = cgroup_mount(read_file(root + "/proc/self/mountinfo"), controller);
  auto path = cgroup_path(read_file(root + "/proc/" + process + "/cgroup"), controller);
  while (mount && path) {
    const auto folder = mount->folder_of(*path);
    if (!folder) break;
    folders.push_back(root + *folder);
    if (path->size() <= 1) break;
    path->resize(std::max<std::size_t>(path->rfind('/'), 1));
  }
  return folders;
}

double cpu_quota(const std::string& root) {
  return std::min(least_quota(root, "cpu"), least_quota(root, ""));
}

}  // namespace paceline
