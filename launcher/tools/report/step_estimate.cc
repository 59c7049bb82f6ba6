#include "launcher/tools/report/step_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace paceline::launcher {
namespace {

// Fewer batches estimate the error badly, and more are correlated.
constexpr std::size_t kMostBatches = 32;
// A correlation above it is a trend, which no error of a mean describes.
constexpr double kMostCorrelation = 0.9;

double numerator(const StepBlock& block, Quantity quantity) {
  switch (quantity) {
    case Quantity::kStep:
      return block.seconds();
    case Quantity::kRate:
      return block.samples;
    case Quantity::kCompute:
      return block.part(StepPart::kCompute);
    case Quantity::kCommunication:
      return block.part(StepPart::kCommunication);
    case Quantity::kInput:
      return block.part(StepPart::kInput);
    case Quantity::kOther:
      return block.part(StepPart::kOther);
  }
  return 0;
}

double denominator(const StepBlock& block, Quantity quantity) {
  return quantity == Quantity::kRate ? block.seconds() : block.steps;
}

std::vector<StepBlock> batches_of(std::span<const StepBlock> blocks) {
  std::size_t count = blocks.size();
  while (count > kMostBatches) count /= 2;
  std::vector<StepBlock> batches(count);
  for (std::size_t i = 0; i < blocks.size(); ++i) batches[i * count / blocks.size()] += blocks[i];
  return batches;
}

// Of neighbours. An estimate from few values is too low by about 1 / their number.
double correlation(const std::vector<double>& residuals) {
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < residuals.size(); ++i) {
    squares += residuals[i] * residuals[i];
    if (i > 0) products += residuals[i] * residuals[i - 1];
  }
  if (squares <= 0) return 0;
  const double corrected = products / squares + 1 / static_cast<double>(residuals.size());
  return std::clamp(corrected, 0.0, kMostCorrelation);
}

// The incomplete beta function as a continued fraction (Lentz; Abramowitz and Stegun, 26.5.8).
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 500;
  constexpr double kTiny = 1e-300;
  const auto not_zero = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1)), value = d;
  for (int m = 1; m <= kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    double factor = 1;
    for (const double term : {even, odd}) {
      d = 1 / not_zero(1 + term * d);
      c = not_zero(1 + term / c);
      factor = c * d;
      value *= factor;
    }
    if (std::abs(factor - 1) < std::numeric_limits<double>::epsilon()) break;
  }
  return value;
}

double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

}  // namespace

std::string_view name(Quantity quantity) {
  switch (quantity) {
    case Quantity::kStep:
      return "step time";
    case Quantity::kRate:
      return "samples/s";
    case Quantity::kCompute:
      return "compute";
    case Quantity::kCommunication:
      return "communication";
    case Quantity::kInput:
      return "input";
    case Quantity::kOther:
      return "other";
  }
  return "unknown";
}

double step_mean(std::span<const StepBlock> blocks, Quantity quantity) {
  double above = 0, below = 0;
  for (const StepBlock& block : blocks) {
    above += numerator(block, quantity);
    below += denominator(block, quantity);
  }
  return below > 0 ? above / below : 0;
}

// The mean is a ratio of sums, so a residual weighs as much as the batch has steps.
StepEstimate step_estimate(std::span<const StepBlock> blocks, Quantity quantity) {
  const std::vector<StepBlock> batches = batches_of(blocks);
  const auto count = static_cast<double>(batches.size());
  StepEstimate made{.mean = step_mean(blocks, quantity), .freedom = count - 1};
  std::vector<double> residuals;
  double squares = 0, below = 0;
  for (const StepBlock& batch : batches) {
    const double own = denominator(batch, quantity);
    residuals.push_back(numerator(batch, quantity) - made.mean * own);
    squares += residuals.back() * residuals.back();
    below += own;
  }
  const double correlated = correlation(residuals);
  const double widened = (1 + correlated) / (1 - correlated);
  if (below > 0 && count > 1)
    made.error = std::sqrt(squares * widened * count / (count - 1)) / below;
  made.freedom = std::max(1.0, made.freedom / widened);
  const std::size_t half = blocks.size() / 2;
  made.drift = step_mean(blocks.subspan(half), quantity) - step_mean(blocks.first(half), quantity);
  return made;
}

MeanDifference mean_difference(const StepEstimate& first, const StepEstimate& second) {
  const double one = first.error * first.error, other = second.error * second.error;
  MeanDifference made{.difference = second.mean - first.mean, .error = std::sqrt(one + other)};
  const double scatter = one * one / first.freedom + other * other / second.freedom;
  made.freedom =
      scatter > 0 ? (one + other) * (one + other) / scatter : first.freedom + second.freedom;
  if (made.error > 0)
    made.chance = student_chance(made.difference / made.error, made.freedom);
  else
    made.chance = made.difference == 0 ? 1 : 0;
  return made;
}

double student_chance(double t, double freedom) {
  return incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t));
}

double student_t(double chance, double freedom) {
  double low = 0, high = 1e6;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (student_chance(middle, freedom) > chance ? low : high) = middle;
  }
  return high;
}

}  // namespace paceline::launcher
