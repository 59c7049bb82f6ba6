#include "launcher/tools/measure/probe/gradient/gradient_rows.h"

#include <array>
#include <cstddef>
#include <cstdio>
#include <initializer_list>
#include <span>

#include "comm/base/cgroup.h"
#include "comm/base/text.h"
#include "launcher/tools/measure/probe/loop/statistics.h"

namespace paceline::probe {
namespace {

constexpr std::string_view kMeasured = "measured", kWire = "wire", kStep = "step",
                           kVerified = "verified";

constexpr double StepRow::*kStepFields[] = {&StepRow::step_us,    &StepRow::compute_us,
                                            &StepRow::exposed_us, &StepRow::cpu_us,
                                            &StepRow::own_cpu_us, &StepRow::sent_bytes};

std::string line_of(std::string_view kind, std::span<const double> values) {
  std::string line(kind);
  for (const double value : values) {
    std::array<char, 32> digits{};
    std::snprintf(digits.data(), digits.size(), " %.9g", value);
    line += digits.data();
  }
  return line;
}

// The numbers behind the first word; none where one of them is no number.
std::vector<double> numbers_of(std::span<const std::string_view> words) {
  std::vector<double> numbers;
  for (const std::string_view word : words.subspan(1)) {
    const auto number = parse_number<double>(word);
    if (!number) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

}  // namespace

StepRow median_of(std::span<const StepRow> rows) {
  StepRow row;
  for (const auto field : kStepFields) {
    std::vector<double> values;
    for (const StepRow& step : rows) values.push_back(step.*field);
    row.*field = quantile(values, 0.5);
  }
  return row;
}

std::string to_line(const SiteRow& row) {
  return line_of(kMeasured, std::array{row.wire.bytes_per_s, row.wire.latency_us, row.burn_per_us});
}

std::string to_line(const WireRate& rate) {
  return line_of(kWire, std::array{rate.bytes_per_s, rate.latency_us});
}

std::string to_line(const StepRow& row) {
  std::vector<double> values;
  for (const auto field : kStepFields) values.push_back(row.*field);
  return line_of(kStep, values);
}

std::string verified_line(double error) { return line_of(kVerified, std::array{error}); }

void take_line(std::string_view line, GradientJob& into) {
  const auto words = split_words(line, ' ');
  if (words.empty()) return;
  const std::vector<double> numbers = numbers_of(words);
  if (words[0] == kMeasured && numbers.size() == 3) {
    into.site = {.wire = {.bytes_per_s = numbers[0], .latency_us = numbers[1]},
                 .burn_per_us = numbers[2]};
  } else if (words[0] == kWire && numbers.size() == 2) {
    into.wires.push_back({.bytes_per_s = numbers[0], .latency_us = numbers[1]});
  } else if (line == kTurnLine) {
    into.turns.emplace_back();
  } else if (words[0] == kStep && numbers.size() == std::size(kStepFields) && !into.turns.empty()) {
    StepRow& row = into.turns.back().emplace_back();
    for (std::size_t i = 0; i < numbers.size(); ++i) row.*kStepFields[i] = numbers[i];
  } else if (words[0] == kVerified && numbers.size() == 1) {
    into.error = numbers[0];
  }
}

}  // namespace paceline::probe
