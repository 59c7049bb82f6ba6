#include "launcher/agent/rank_usage.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"
#include "launcher/agent/oom_count.h"
#include "launcher/agent/use_texts.h"

namespace paceline::launcher {
namespace {

// Fields of proc(5)'s stat after the command's name.
constexpr std::size_t kState = 0, kGroup = 2, kMajorFaults = 9, kResidentPages = 21;
constexpr std::uint64_t kPageKib = 4;
constexpr std::int64_t kNsPerUs = 1000;

std::vector<std::string_view> stat_fields(std::string_view text) {
  const std::size_t name_end = text.rfind(')');
  if (name_end == text.npos) return {};
  return split_words(text.substr(name_end + 1, text.find('\n', name_end) - name_end - 1), ' ');
}

template <class Number>
Number field(const std::vector<std::string_view>& fields, std::size_t at, Number otherwise) {
  return at < fields.size() ? parse_number<Number>(fields[at]).value_or(otherwise) : otherwise;
}

// Version 2 has microseconds, version 1 nanoseconds.
std::int64_t throttled_ns_in(const std::string& folder) {
  const std::string text = read_file(folder + "/cpu.stat");
  if (const auto us = counter(text, "throttled_usec"))
    return static_cast<std::int64_t>(*us) * kNsPerUs;
  return static_cast<std::int64_t>(counter(text, "throttled_time").value_or(0));
}

}  // namespace

UsageReader::UsageReader(pid_t process, std::string root)
    : root_(std::move(root)), process_(process) {
  for (const CgroupController controller : {"", "cpu"})
    for (std::string& folder : cgroup_folders(std::to_string(process), controller, root_)) {
      if (controller.empty() && own_group_.empty()) own_group_ = folder;
      groups_.push_back(std::move(folder));
    }
}

void UsageReader::set_thread(pid_t thread) {
  if (thread == thread_) return;
  const std::string stat = read_file(root_ + "/proc/" + std::to_string(thread) + "/stat");
  if (field<pid_t>(stat_fields(stat), kGroup, 0) == process_) thread_ = thread;
}

std::string UsageReader::thread_folder() const {
  return root_ + "/proc/" + std::to_string(thread_ != 0 ? thread_ : process_);
}

void UsageReader::look(TimePoint now) {
  const std::string stat = read_file(thread_folder() + "/stat");
  const auto fields = stat_fields(stat);
  const Duration since = looked_at_ ? now - *looked_at_ : Duration::zero();
  looked_at_ = now;
  if (fields.empty()) return;
  const char state = fields[kState].front();
  if (state == 'T' || state == 't') usage_.stopped_ns += since.count();
  if (state == 'D') usage_.blocked_ns += since.count();
}

// /proc/TID exists for each thread, although no listing shows it. Its schedstat is the thread's.
const RankUsage& UsageReader::read(TimePoint now) {
  const std::string times = read_file(thread_folder() + "/schedstat");
  const auto words = split_words(std::string_view(times).substr(0, times.find('\n')), ' ');
  if (words.size() < 2) return usage_;
  usage_.time_ns = now.time_since_epoch().count();
  usage_.run_ns = field(words, 0, usage_.run_ns);
  usage_.queued_ns = field(words, 1, usage_.queued_ns);
  const std::string stat = read_file(root_ + "/proc/" + std::to_string(process_) + "/stat");
  const auto fields = stat_fields(stat);
  usage_.major_faults = field(fields, kMajorFaults, usage_.major_faults);
  if (const auto pages = field<std::uint64_t>(fields, kResidentPages, 0); pages > 0)
    usage_.resident_kib = pages * kPageKib;
  for (const std::string& group : groups_)
    usage_.throttled_ns = std::max(usage_.throttled_ns, throttled_ns_in(group));
  read_figures();
  return usage_;
}

void UsageReader::read_figures() {
  read_process_io(read_file(thread_folder() + "/io"), usage_.figures);
  if (own_group_.empty()) return;
  const auto stalled = [this](const char* file) {
    return stalled_seconds(read_file(own_group_ + file));
  };
  usage_.figures.set(HostFigure::kCpuStalled, stalled("/cpu.pressure"));
  usage_.figures.set(HostFigure::kMemoryStalled, stalled("/memory.pressure"));
  usage_.figures.set(HostFigure::kIoStalled, stalled("/io.pressure"));
}

}  // namespace paceline::launcher
