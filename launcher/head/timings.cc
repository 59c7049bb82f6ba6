#include "launcher/head/timings.h"

#include <algorithm>
#include <cstdio>
#include <span>

namespace paceline::launcher {
namespace {

constexpr std::array<const char*, kStages> kNames = {
    "options, hosts and limits read",
    "agents connected",
    "links between hosts tested",
    "machines read, ranks placed",
    "store started",
    "ranks started",
    "init started",
    "init ended",
    "first operation ended",
    "ranks ended",
    "hosts cleaned up",
};

double ms(Duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

std::string row(const char* name, double first_ms, double last_ms, const std::string& last_one) {
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), "  %-30s %10.1f %10.1f  ", name, first_ms, last_ms);
  std::string line(text.data());
  line += last_one;
  return line.erase(line.find_last_not_of(' ') + 1);
}

}  // namespace

void Timings::came(Stage stage, TimePoint when, std::string_view who) {
  Arrivals& arrivals = arrivals_[static_cast<std::size_t>(stage)];
  if (arrivals.count++ == 0) {
    arrivals.first = when;
  } else if (when < arrivals.last) {
    arrivals.first = std::min(arrivals.first, when);
    return;
  }
  arrivals.last = when;
  arrivals.last_one = who;
}

void Timings::forget_from(Stage stage) {
  std::ranges::fill(std::span(arrivals_).subspan(static_cast<std::size_t>(stage)), Arrivals());
}

std::string Timings::table() const {
  std::array<char, 128> title;
  std::snprintf(title.data(), title.size(),
                "timings, ms since the command started\n  %-30s %10s %10s", "", "first", "last");
  std::string text = title.data();
  for (std::size_t i = 0; i < kStages; ++i) {
    const Arrivals& came = arrivals_[i];
    if (came.count == 0) continue;
    text += "\n";
    text += row(kNames[i], ms(came.first - begin_), ms(came.last - begin_),
                came.count > 1 ? came.last_one : "");
  }
  return text + longest();
}

// From the last to come to a stage to the last to come to the next: what lies on the way of all.
std::string Timings::longest() const {
  TimePoint before = begin_;
  const char* from = "begin";
  Duration most{0};
  std::string between;
  for (std::size_t i = 0; i < kStages; ++i) {
    if (arrivals_[i].count == 0) continue;
    const Duration took = arrivals_[i].last - before;
    if (took > most) {
      most = took;
      between = std::string(from) + " to " + kNames[i];
    }
    before = arrivals_[i].last;
    from = kNames[i];
  }
  if (between.empty()) return "";
  std::array<char, 128> text;
  std::snprintf(text.data(), text.size(), "\n  the longest stage: %.1f ms, ", ms(most));
  return std::string(text.data()).append(between);
}

}  // namespace paceline::launcher
