#include "launcher/connectivity/host_facts.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/statvfs.h>

#include "comm/base/cgroup.h"
#include "comm/base/ip_address.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "comm/base/unique_fd.h"
#include "comm/host_interfaces.h"

namespace paceline::probe {
namespace {

constexpr double kBitsPerMbit = 1e6;

/// The first word of a file; empty where there is none.
std::string word_of(const std::string& path) {
  const std::string text = read_file(path);
  return text.substr(0, text.find_first_of(" \t\n"));
}

/// "0-3,8" is five.
int count_of(std::string_view list) {
  int count = 0;
  for (const std::string_view part : split_words(list.substr(0, list.find('\n')), ',')) {
    const std::size_t dash = part.find('-');
    const auto first = parse_number<int>(part.substr(0, dash));
    const auto last = dash == part.npos ? first : parse_number<int>(part.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
  }
  return count;
}

/// What stands behind `name` in a file of lines "name: value" or "name   value value".
std::vector<std::string> values_of(const std::string& text, std::string_view name) {
  for (const std::string_view line : split_words(text, '\n')) {
    if (!line.starts_with(name)) continue;
    std::string rest(line.substr(name.size()));
    std::replace(rest.begin(), rest.end(), '\t', ' ');
    std::vector<std::string> words;
    for (const std::string_view word : split_words(rest, ' ')) words.emplace_back(word);
    return words;
  }
  return {};
}

std::uint64_t kilobytes_in(const std::string& text, std::string_view name) {
  const auto words = values_of(text, name);
  return words.empty() ? 0 : parse_number<std::uint64_t>(words[0]).value_or(0) * 1024;
}

std::uint64_t limit_in(const std::string& limits, std::string_view name, std::size_t column) {
  const auto words = values_of(limits, name);
  if (words.size() <= column) return 0;
  return words[column] == "unlimited" ? kNoLimit
                                      : parse_number<std::uint64_t>(words[column]).value_or(0);
}

/// The least of what the files `file` say, from this process's own control group upwards.
std::uint64_t least_in_cgroups(const std::string& root, CgroupController controller,
                               const std::string& file) {
  const auto mount = cgroup_mount(read_file(root + "/proc/self/mountinfo"), controller);
  auto path = cgroup_path(read_file(root + "/proc/self/cgroup"), controller);
  std::uint64_t least = kNoLimit;
  while (mount && path) {
    const auto folder = mount->folder_of(*path);
    if (!folder) break;
    const auto limit = parse_number<std::uint64_t>(word_of(root + *folder + "/" + file));
    least = std::min(least, limit.value_or(kNoLimit));
    if (path->size() <= 1) break;
    path->resize(std::max<std::size_t>(path->rfind('/'), 1));
  }
  return least;
}

/// The word in brackets: "always [madvise] never".
std::string chosen_in(const std::string& text) {
  const std::size_t begin = text.find('[');
  const std::size_t end = text.find(']');
  return begin < end && end != text.npos ? text.substr(begin + 1, end - begin - 1) : "";
}

int count_entries(const std::string& folder, std::string_view prefix) {
  std::error_code unreadable;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    count += name.starts_with(prefix) && name.size() > prefix.size() &&
             name.find_first_not_of("0123456789", prefix.size()) == name.npos;
  }
  return count;
}

std::string first_entry(const std::string& folder) {
  std::error_code unreadable;
  std::string first;
  for (const auto& entry : std::filesystem::directory_iterator(folder, unreadable)) {
    const std::string name = entry.path().filename().string();
    if (first.empty() || name < first) first = name;
  }
  return first;
}

void read_cpus(const std::string& root, HostFacts& into) {
  const std::string cpus = root + "/sys/devices/system/cpu/";
  into.cpus_online = count_of(read_file(cpus + "online"));
  const auto allowed = values_of(read_file(root + "/proc/self/status"), "Cpus_allowed_list:");
  into.cpus_allowed = allowed.empty() ? 0 : count_of(allowed[0]);
  const double quota = cpu_quota(root);
  into.cpu_quota = std::isfinite(quota) ? quota : 0;
  into.load = parse_number<double>(word_of(root + "/proc/loadavg")).value_or(0);
  into.governor = word_of(cpus + "cpu0/cpufreq/scaling_governor");
  into.smt = word_of(cpus + "smt/control");
  into.numa_nodes = count_entries(root + "/sys/devices/system/node", "node");
  into.numa_balancing = word_of(root + "/proc/sys/kernel/numa_balancing");
}

std::uint64_t free_bytes(const std::string& folder, std::uint64_t if_unknown) {
  struct statvfs space {};
  return ::statvfs(folder.c_str(), &space) == 0 ? space.f_bavail * space.f_frsize : if_unknown;
}

// Sizes and modes do not tell: the mount may be read-only, and the folder another user's. The file
// has no name, so nothing is left. A file system that has no such files is not judged.
int error_of_new_file(const std::string& folder) {
  const UniqueFd file(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  return file || errno == EOPNOTSUPP ? 0 : errno;
}

std::uint64_t count_memory_errors(const std::string& root) {
  std::error_code unreadable;
  std::uint64_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(root + "/sys/devices/system/edac/mc", unreadable))
    count += parse_number<std::uint64_t>(word_of(entry.path().string() + "/ue_count")).value_or(0);
  return count;
}

void read_memory(const std::string& root, HostFacts& into) {
  const std::string memory = read_file(root + "/proc/meminfo");
  into.memory_bytes = kilobytes_in(memory, "MemTotal:");
  into.memory_available_bytes = kilobytes_in(memory, "MemAvailable:");
  into.memory_limit_bytes = std::min(least_in_cgroups(root, "memory", "memory.limit_in_bytes"),
                                     least_in_cgroups(root, "", "memory.max"));
  // Version 1 has no word for "no limit": the number is one that no machine has.
  if (into.memory_limit_bytes > into.memory_bytes && into.memory_bytes > 0)
    into.memory_limit_bytes = kNoLimit;
  into.thp = chosen_in(read_file(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  struct statvfs shm {};
  if (::statvfs((root + "/dev/shm").c_str(), &shm) == 0)
    into.shm_bytes = shm.f_blocks * shm.f_frsize;
  into.shm_free_bytes = free_bytes(root + "/dev/shm", 0);
  into.shm_error = error_of_new_file(root + "/dev/shm");
  into.tmp_free_bytes = free_bytes(root + "/tmp", kNoLimit);
  into.memory_errors = count_memory_errors(root);
}

void read_limits(const std::string& root, HostFacts& into) {
  const std::string limits = read_file(root + "/proc/self/limits");
  into.memlock_bytes = limit_in(limits, "Max locked memory", 0);
  into.open_files = limit_in(limits, "Max open files", 1);
  into.pids_limit =
      std::min(least_in_cgroups(root, "pids", "pids.max"), least_in_cgroups(root, "", "pids.max"));
}

std::uint64_t third_number(const std::string& path) {
  std::string text = read_file(path);
  std::replace(text.begin(), text.end(), '\t', ' ');
  const auto words = split_words(std::string_view(text).substr(0, text.find('\n')), ' ');
  return words.size() == 3 ? parse_number<std::uint64_t>(words[2]).value_or(0) : 0;
}

void read_network(const std::string& root, const std::string& device, HostFacts& into) {
  into.receive_buffer_bytes = third_number(root + "/proc/sys/net/ipv4/tcp_rmem");
  into.send_buffer_bytes = third_number(root + "/proc/sys/net/ipv4/tcp_wmem");
  into.rdma_device = first_entry(root + "/sys/class/infiniband");
  if (device.empty()) return;
  const std::string folder = root + "/sys/class/net/" + device;
  into.device = device;
  into.mtu = parse_number<int>(word_of(folder + "/mtu")).value_or(0);
  into.rate_mbit =
      std::max<std::int64_t>(0, parse_number<std::int64_t>(word_of(folder + "/speed")).value_or(0));
  std::error_code none;
  const auto driver = std::filesystem::read_symlink(folder + "/device/driver", none);
  if (!none) into.driver = driver.filename().string();
  if (std::filesystem::exists(folder + "/bonding", none)) into.driver = "bonding";
}

// A row for each field: its name, and how it becomes text and comes back.
struct Field {
  std::string_view name;
  std::string (*write)(const HostFacts&);
  void (*read)(std::string_view, HostFacts&);
};

template <auto Member>
constexpr Field field(std::string_view name) {
  using Value = std::remove_cvref_t<decltype(HostFacts{}.*Member)>;
  if constexpr (std::is_same_v<Value, std::string>) {
    return {name, [](const HostFacts& facts) { return facts.*Member; },
            [](std::string_view text, HostFacts& into) { into.*Member = std::string(text); }};
  } else {
    return {name, [](const HostFacts& facts) { return std::to_string(facts.*Member); },
            [](std::string_view text, HostFacts& into) {
              into.*Member = parse_number<Value>(text).value_or(into.*Member);
            }};
  }
}

constexpr Field kFields[] = {
    field<&HostFacts::boot_id>("boot_id"),
    field<&HostFacts::cpus_online>("cpus_online"),
    field<&HostFacts::cpus_allowed>("cpus_allowed"),
    field<&HostFacts::cpu_quota>("cpu_quota"),
    field<&HostFacts::load>("load"),
    field<&HostFacts::memory_bytes>("memory_bytes"),
    field<&HostFacts::memory_available_bytes>("memory_available_bytes"),
    field<&HostFacts::memory_limit_bytes>("memory_limit_bytes"),
    field<&HostFacts::pids_limit>("pids_limit"),
    field<&HostFacts::memory_errors>("memory_errors"),
    field<&HostFacts::numa_nodes>("numa_nodes"),
    field<&HostFacts::numa_balancing>("numa_balancing"),
    field<&HostFacts::governor>("governor"),
    field<&HostFacts::smt>("smt"),
    field<&HostFacts::thp>("thp"),
    field<&HostFacts::memlock_bytes>("memlock_bytes"),
    field<&HostFacts::open_files>("open_files"),
    field<&HostFacts::shm_bytes>("shm_bytes"),
    field<&HostFacts::shm_free_bytes>("shm_free_bytes"),
    field<&HostFacts::shm_error>("shm_error"),
    field<&HostFacts::tmp_free_bytes>("tmp_free_bytes"),
    field<&HostFacts::receive_buffer_bytes>("receive_buffer_bytes"),
    field<&HostFacts::send_buffer_bytes>("send_buffer_bytes"),
    field<&HostFacts::rdma_device>("rdma_device"),
    field<&HostFacts::device>("device"),
    field<&HostFacts::driver>("driver"),
    field<&HostFacts::mtu>("mtu"),
    field<&HostFacts::rate_mbit>("rate_mbit"),
    field<&HostFacts::gpus>("gpus"),
    field<&HostFacts::gpu_models>("gpu_models"),
    field<&HostFacts::gpu_error>("gpu_error"),
    field<&HostFacts::lost_gpus>("lost_gpus"),
    field<&HostFacts::gpu_clock_limits>("gpu_clock_limits"),
    field<&HostFacts::limited_gpus>("limited_gpus"),
    field<&HostFacts::gpu_memory_errors>("gpu_memory_errors"),
    field<&HostFacts::gpus_with_errors>("gpus_with_errors"),
    field<&HostFacts::narrow_gpus>("narrow_gpus"),
    field<&HostFacts::nvlinks>("nvlinks"),
};

}  // namespace

std::optional<double> HostFacts::rating_bits_per_s() const {
  if (driver.empty() || rate_mbit <= 0) return std::nullopt;
  return static_cast<double>(rate_mbit) * kBitsPerMbit;
}

HostFacts read_host_facts(const std::string& root, const std::string& device, HostFacts known) {
  HostFacts facts = std::move(known);
  facts.boot_id = word_of(root + "/proc/sys/kernel/random/boot_id");
  read_cpus(root, facts);
  read_memory(root, facts);
  read_limits(root, facts);
  read_network(root, device, facts);
  return facts;
}

std::string device_of(const std::string& address) {
  const auto wanted = IpAddress::parse(address);
  for (const HostInterface& one : interfaces_of_this_host())
    if (one.address == wanted) return one.name;
  return "";
}

std::vector<std::pair<std::string, std::string>> to_pairs(const HostFacts& facts) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const Field& field : kFields) {
    std::string value = printable(field.write(facts));
    std::replace(value.begin(), value.end(), ' ', '_');
    pairs.emplace_back(field.name, std::move(value));
  }
  return pairs;
}

std::string to_text(const HostFacts& facts) {
  std::string text;
  for (const auto& [name, value] : to_pairs(facts))
    text.append(text.empty() ? "" : " ").append(name).append("=").append(value);
  return text;
}

HostFacts parse_host_facts(std::string_view text) {
  HostFacts facts;
  for (const std::string_view word : split_words(text, ' ')) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos) continue;
    for (const Field& field : kFields)
      if (field.name == word.substr(0, equals)) field.read(word.substr(equals + 1), facts);
  }
  return facts;
}

}  // namespace paceline::probe
