#include "collectives/gradient/path_meter.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace paceline {
namespace {

double lower_quartile(std::vector<double>& values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::ranges::nth_element(values, at);
  return *at;
}

}  // namespace

void PathMeter::add(std::size_t bytes, double took_us) {
  if (bytes == 0) return;
  std::vector<Taken>& alike = classes_[static_cast<std::size_t>(std::bit_width(bytes)) - 1];
  if (alike.size() < kMostTimes)
    alike.push_back({.bytes = static_cast<double>(bytes), .us = took_us});
}

void PathMeter::clear() {
  for (std::vector<Taken>& alike : classes_) alike.clear();
}

double PathMeter::beta_us(double alpha_us) const {
  const auto moved = [](const std::vector<Taken>& alike) {
    return std::accumulate(alike.begin(), alike.end(), 0.0,
                           [](double sum, const Taken& one) { return sum + one.bytes; });
  };
  const auto most = std::ranges::max_element(classes_, {}, moved);
  if (most->empty()) return 0;
  std::vector<double> rates;
  for (const Taken& one : *most) rates.push_back(std::max(0.0, one.us - alpha_us) / one.bytes);
  return lower_quartile(rates);
}

}  // namespace paceline
