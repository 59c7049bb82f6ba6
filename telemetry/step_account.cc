#include <cstdio>
#include <numeric>

#include <paceline/step_account.h>

#include "comm/base/clock.h"

namespace paceline {
namespace {

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

double milliseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e6;
}

}  // namespace

std::string_view name(Part part) {
  switch (part) {
    case Part::kCompute:
      return "compute";
    case Part::kCommunication:
      return "communication";
    case Part::kOther:
      return "other";
  }
  return "unknown part";
}

std::chrono::nanoseconds StepSummary::sum() const {
  return std::accumulate(parts.begin(), parts.end(), std::chrono::nanoseconds{0});
}

double StepSummary::scaling_efficiency_estimate() const {
  const auto compute = parts[static_cast<std::size_t>(Part::kCompute)];
  return wall.count() > 0 ? static_cast<double>(compute.count()) / static_cast<double>(wall.count())
                          : 0.0;
}

std::string StepSummary::to_string() const {
  const double count = steps > 0 ? static_cast<double>(steps) : 1.0;
  char text[256];
  std::string line = "step ";
  std::snprintf(text, sizeof text, "%.3f ms =", milliseconds(wall) / count);
  line += text;
  for (std::size_t part = 0; part < kParts; ++part) {
    std::snprintf(text, sizeof text, "%s %s %.3f", part == 0 ? "" : " +",
                  std::string(name(static_cast<Part>(part))).c_str(),
                  milliseconds(parts[part]) / count);
    line += text;
  }
  std::snprintf(text, sizeof text,
                "\nscaling efficiency %.0f %% (estimate: compute / step time, no one-rank run)",
                100.0 * scaling_efficiency_estimate());
  return line + text;
}

StepAccount::StepAccount() : StepAccount(system_clock()) {}
StepAccount::StepAccount(const Clock& clock) : clock_(&clock) {}

void StepAccount::enter(Part part) {
  charge();
  part_ = part;
}

void StepAccount::end_step() {
  charge();
  part_ = Part::kOther;
  ++summary_.steps;
  summary_.wall = last_ - begin_;
}

void StepAccount::charge() {
  const auto now = clock_->now().time_since_epoch();
  if (!started_) {
    started_ = true;
    begin_ = last_ = now;
  }
  summary_.parts[static_cast<std::size_t>(part_)] += now - last_;
  last_ = now;
}

}  // namespace paceline
