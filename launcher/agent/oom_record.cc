#include "launcher/agent/oom_record.h"

#include <algorithm>
#include <charconv>

namespace paceline::launcher {
namespace {

constexpr std::string_view kKilled = "Killed process ";

// What a record says, without its prefix and its dictionary; empty if it is not the kernel's own.
// A process that writes to /dev/kmsg cannot have facility 0, which is all above the lowest 3 bits.
std::string_view kernel_text(std::string_view record) {
  int priority = 0;
  const auto parsed = std::from_chars(record.data(), record.data() + record.size(), priority);
  const std::size_t semicolon = record.find(';');
  if (parsed.ec != std::errc{} || priority > 7 || semicolon == std::string_view::npos) return {};
  const std::string_view text = record.substr(semicolon + 1);
  return text.substr(0, text.find('\n'));
}

std::string_view after(std::string_view text, std::string_view marker) {
  const std::size_t at = text.find(marker);
  return at == std::string_view::npos ? std::string_view{} : text.substr(at + marker.size());
}

std::string_view between(std::string_view text, std::string_view begin, std::string_view end) {
  const std::string_view rest = after(text, begin);
  const std::size_t at = rest.find(end);
  return at == std::string_view::npos ? std::string_view{} : rest.substr(0, at);
}

std::optional<pid_t> number(std::string_view text) {
  pid_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() || value <= 0) return {};
  return value;
}

}  // namespace

void OomRecords::add(std::string_view record) {
  const std::string_view text = kernel_text(record);
  if (text.starts_with("oom-kill:constraint=")) return read_summary(text);
  if (text.find(kKilled) != std::string_view::npos) return read_kill(text);
  if (text.starts_with("Task in ")) {
    cgroup_ = after(text, " killed as a result of limit of ");
    whole_group_ = false;
  }
  if (text.starts_with("Tasks in ") && text.ends_with(" due to memory.oom.group set")) {
    cgroup_ = between(text, "Tasks in ", " are going to be killed");
    whole_group_ = !cgroup_.empty();
  }
}

// The task's name comes last but two and may hold anything, "pid=1" too; the paths come before it.
void OomRecords::read_summary(std::string_view text) {
  whole_group_ = false;
  cgroup_ = between(text, ",oom_memcg=", ",task_memcg=");
  const std::size_t pid = text.rfind(",pid=");
  if (pid == std::string_view::npos) return;
  const bool host = text.find(",global_oom,") != std::string_view::npos;
  note(number(text.substr(pid + 5)), host              ? kWholeHost
                                     : cgroup_.empty() ? kSomeMemoryCgroup
                                                       : std::string_view(cgroup_));
}

// Many lines begin with a task's name, at most 15 bytes: too few for any of these beginnings with
// a number after it.
void OomRecords::read_kill(std::string_view text) {
  const std::string_view begin = text.substr(0, text.find(kKilled));
  const bool in_cgroup = begin == "Memory cgroup out of memory: ";
  const bool in_host =
      begin == "Out of memory: " || begin == "Out of memory (oom_kill_allocating_task): ";
  if (!in_cgroup && !in_host && !begin.empty()) return;
  const std::optional<pid_t> pid = number(after(text, kKilled));
  if (!in_host && !cgroup_.empty()) {
    note(pid, cgroup_);
  } else {
    note(pid, in_cgroup ? kSomeMemoryCgroup : kWholeHost);
  }
  if (!whole_group_) cgroup_.clear();
}

// The first line about a kill says most.
void OomRecords::note(std::optional<pid_t> pid, std::string_view where) {
  if (!pid || this->where(*pid)) return;
  kills_.push_back({.pid = *pid, .where = std::string(where)});
  if (kills_.size() > kMost) kills_.pop_front();
}

std::optional<std::string> OomRecords::where(pid_t pid) const {
  const auto found = std::find_if(kills_.begin(), kills_.end(),
                                  [pid](const Kill& kill) { return kill.pid == pid; });
  if (found == kills_.end()) return {};
  return found->where;
}

}  // namespace paceline::launcher
