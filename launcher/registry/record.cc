#include "launcher/registry/record.h"

#include <algorithm>
#include <map>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

constexpr std::size_t kIdDigits = 16;
constexpr std::size_t kMaxCommandBytes = 1000;

using Fields = std::map<std::string_view, std::string_view>;

Fields split(std::string_view text) {
  Fields fields;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    if (space != std::string_view::npos) fields[line.substr(0, space)] = line.substr(space + 1);
  }
  return fields;
}

template <class Number>
bool read(const Fields& fields, std::string_view name, Number& number) {
  const auto found = fields.find(name);
  if (found == fields.end()) return false;
  const auto parsed = parse_number<Number>(found->second);
  number = parsed.value_or(number);
  return parsed.has_value();
}

bool read(const Fields& fields, std::string_view name, std::string& text) {
  const auto found = fields.find(name);
  if (found == fields.end()) return false;
  text = found->second;
  return true;
}

}  // namespace

bool is_job_id(std::string_view word) {
  return word.size() == kIdDigits &&
         word.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string command_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    if (!line.empty()) line += ' ';
    line += word.substr(0, kMaxCommandBytes);
    if (line.size() > kMaxCommandBytes) break;
  }
  if (line.size() > kMaxCommandBytes) line = line.substr(0, kMaxCommandBytes) + "…";
  return printable(line);
}

std::string to_text(const JobRecord& record) {
  return "id " + record.id + "\nhost " + record.host + "\nhead_pid " +
         std::to_string(record.head.pid) + "\nhead_start_time " +
         std::to_string(record.head.start_time) + "\nbegin_ns " +
         std::to_string(record.begin.time_since_epoch().count()) + "\nranks " +
         std::to_string(record.ranks) + "\ngrace_ns " + std::to_string(record.grace.count()) +
         "\ncommand " + record.command + "\n" +
         (record.cgroup.empty() ? "" : "cgroup " + record.cgroup + "\n");
}

std::optional<JobRecord> parse_record(std::string_view text) {
  const Fields fields = split(text);
  JobRecord record;
  Duration::rep begin_ns = 0;
  Duration::rep grace_ns = 0;
  const bool whole = read(fields, "id", record.id) && read(fields, "host", record.host) &&
                     read(fields, "head_pid", record.head.pid) &&
                     read(fields, "head_start_time", record.head.start_time) &&
                     read(fields, "begin_ns", begin_ns) && read(fields, "ranks", record.ranks) &&
                     read(fields, "grace_ns", grace_ns) && read(fields, "command", record.command);
  if (!whole || !is_job_id(record.id)) return std::nullopt;
  read(fields, "cgroup", record.cgroup);  // not every job has one
  record.begin = TimePoint(Duration(begin_ns));
  record.grace = Duration(grace_ns);
  return record;
}

}  // namespace paceline::launcher
