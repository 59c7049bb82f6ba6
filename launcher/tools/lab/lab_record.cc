#include "launcher/tools/lab/lab_record.h"

#include <algorithm>

#include "comm/base/text.h"

namespace paceline::launcher {
namespace {

std::string line(std::string_view name, const std::string& value) {
  return std::string(name) + " " + value + "\n";
}

std::string number(std::int64_t value) { return std::to_string(value); }

std::string identity(const ProcessIdentity& process) {
  return std::to_string(process.pid) + " " + std::to_string(process.start_time);
}

template <class T>
bool read(std::string_view value, T& into) {
  const auto parsed = parse_number<T>(value);
  into = parsed.value_or(into);
  return parsed.has_value();
}

bool read(std::string_view value, ProcessIdentity& into) {
  const std::size_t space = value.find(' ');
  return space != std::string_view::npos && read(value.substr(0, space), into.pid) &&
         read(value.substr(space + 1), into.start_time);
}

bool read(std::string_view value, bool& into) {
  into = value == "1";
  return value == "0" || into;
}

template <class T>
bool append(std::string_view value, std::vector<T>& to) {
  return read(value, to.emplace_back());
}

bool read_delay(std::string_view value, Duration& into) {
  Duration::rep delay_ns = 0;
  const bool is_number = read(value, delay_ns);
  into = Duration(delay_ns);
  return is_number;
}

// Lines that it does not know are skipped, so that an older command can read a newer one's.
bool take(std::string_view name, std::string_view value, LabRecord& into) {
  if (name == "name") return into.plan.name = value, is_lab_name(value);
  if (name == "hosts") return read(value, into.plan.hosts);
  if (name == "slots") return read(value, into.plan.slots);
  if (name == "rate_bits") return append(value, into.plan.rates_bits);
  if (name == "delay_ns") return read_delay(value, into.plan.delay);
  if (name == "ssh") return read(value, into.plan.ssh);
  if (name == "maker") return read(value, into.maker);
  if (name == "keeper") return read(value, into.keeper);
  if (name == "user_namespace") return read(value, into.in_user_namespace);
  if (name == "init") return append(value, into.inits);
  if (name == "cgroup") return into.cgroups.emplace_back(value).starts_with('/');
  return true;
}

bool is_whole(const LabRecord& record) {
  const auto hosts = static_cast<std::size_t>(record.plan.hosts);
  return record.plan.hosts >= 1 && record.plan.hosts <= kMaxLabHosts && record.maker.pid > 0 &&
         record.plan.rails() >= 1 && record.plan.rails() <= kMaxLabRails &&
         record.inits.size() == (record.is_complete() ? hosts : 0);
}

}  // namespace

std::string to_text(const LabRecord& record) {
  std::string text = line("name", record.plan.name) + line("hosts", number(record.plan.hosts)) +
                     line("slots", number(record.plan.slots));
  for (const std::int64_t rate : record.plan.rates_bits) text += line("rate_bits", number(rate));
  text += line("delay_ns", number(record.plan.delay.count())) +
          line("ssh", number(record.plan.ssh ? 1 : 0)) + line("maker", identity(record.maker)) +
          line("keeper", identity(record.keeper)) +
          line("user_namespace", number(record.in_user_namespace ? 1 : 0));
  for (const ProcessIdentity& init : record.inits) text += line("init", identity(init));
  for (const std::string& folder : record.cgroups) text += line("cgroup", folder);
  return text;
}

std::optional<LabRecord> parse_lab_record(std::string_view text) {
  LabRecord record;
  record.plan.hosts = 0;
  record.plan.rates_bits.clear();
  while (!text.empty()) {
    const std::string_view words = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), words.size() + 1));
    const std::size_t space = std::min(words.find(' '), words.size());
    const std::string_view value = words.substr(std::min(space + 1, words.size()));
    if (!take(words.substr(0, space), value, record)) return std::nullopt;
  }
  return is_whole(record) ? std::optional(record) : std::nullopt;
}

}  // namespace paceline::launcher
