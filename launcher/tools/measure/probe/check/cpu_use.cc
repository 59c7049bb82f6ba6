#include "launcher/tools/measure/probe/check/cpu_use.h"

#include <algorithm>
#include <string_view>

#include <sys/resource.h>

#include "comm/base/cgroup.h"
#include "comm/base/read_file.h"
#include "comm/base/text.h"

namespace paceline::probe {
namespace {

constexpr int kPausesPerLook = 100;

// This process's control groups and those above them: a quota may be of any of them.
std::vector<std::string> all_groups() {
  std::vector<std::string> folders = cgroup_folders("self", "");
  const std::vector<std::string> others = cgroup_folders("self", "cpu");
  folders.insert(folders.end(), others.begin(), others.end());
  return folders;
}

// How long some thread of the group was ready and had no CPU: "some avg10=… total=MICROSECONDS".
double pressure_ns_in(const std::string& folder) {
  constexpr std::string_view kTotal = "total=";
  const std::string text = read_file(folder + "/cpu.pressure");
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const std::size_t at = line.find(kTotal);
  if (at == line.npos) return 0;
  return kNsPerUs * parse_number<double>(line.substr(at + kTotal.size())).value_or(0);
}

double waiting_ns(const std::vector<std::string>& groups) {
  const std::string text = read_file("/proc/thread-self/schedstat");
  const auto words = split_words(std::string_view(text).substr(0, text.find('\n')), ' ');
  const bool counts = words.size() == 3 && words[0] != "0";  // else the kernel was built without
  if (counts) return parse_number<double>(words[1]).value_or(0);
  return groups.empty() ? 0 : pressure_ns_in(groups.front());
}

double busy_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
  };
  return kNsPerUs * (us(usage.ru_utime) + us(usage.ru_stime));
}

}  // namespace

CpuMeter::CpuMeter(const Clock& clock) : clock_(clock), groups_(all_groups()), begin_(look()) {}

CpuMeter::Reading CpuMeter::look() const {
  Reading reading{.moment = clock_.now(), .busy_ns = busy_ns(), .waiting_ns = waiting_ns(groups_)};
  for (const std::string& group : groups_) reading.periods.push_back(periods_in(group));
  return reading;
}

CpuMeter::Periods CpuMeter::periods_in(const std::string& group) {
  Periods periods;
  const std::string text = read_file(group + "/cpu.stat");
  for (const std::string_view line : split_words(text, '\n')) {
    const auto words = split_words(line, ' ');
    if (words.size() != 2) continue;
    const double number = parse_number<double>(words[1]).value_or(0);
    if (words[0] == "nr_periods") periods.all = number;
    if (words[0] == "nr_throttled") periods.throttled = number;
  }
  return periods;
}

CpuUse CpuMeter::read() const {
  const Reading end = look();
  const auto wall = static_cast<double>((end.moment - begin_.moment).count());
  if (wall <= 0) return {};
  const auto share = [](double part, double all) {
    return all > 0 ? std::clamp(part / all, 0.0, 1.0) : 0.0;
  };
  double throttled = 0;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Periods& from = begin_.periods[i];
    const Periods& to = end.periods[i];
    throttled = std::max(throttled, share(to.throttled - from.throttled, to.all - from.all));
  }
  return {.busy = share(end.busy_ns - begin_.busy_ns, wall),
          .waiting = share(end.waiting_ns - begin_.waiting_ns, wall),
          .throttled = throttled};
}

CpuUse spin(const Clock& clock, Duration time) {
  const CpuMeter meter(clock);
  const Deadline end = Deadline::after(clock, time);
  while (!end.passed(clock.now()))
    for (int i = 0; i < kPausesPerLook; ++i) __builtin_ia32_pause();
  return meter.read();
}

}  // namespace paceline::probe
