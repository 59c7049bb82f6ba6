#include "launcher/tools/measure/scale/scaling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

namespace paceline::launcher {
namespace {

// Student's t for 95 %, by degrees of freedom from 1 on.
constexpr double kStudent[] = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
// Of 10 to 19, 20 to 39, and more.
constexpr double kStudentOfMany[] = {2.23, 2.09, 2.02};

// Runs with fewer blocks of steps keep their first one.
constexpr std::size_t kLeastBlocks = 3;

Estimate estimate(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Estimate made{.mean = std::accumulate(values.begin(), values.end(), 0.0) / count};
  if (values.size() < 2) return made;
  double squares = 0;
  for (const double value : values) squares += (value - made.mean) * (value - made.mean);
  const std::size_t freedom = values.size() - 1;
  const double student = freedom <= std::size(kStudent) ? kStudent[freedom - 1]
                         : freedom < 20                 ? kStudentOfMany[0]
                         : freedom < 40                 ? kStudentOfMany[1]
                                                        : kStudentOfMany[2];
  made.half = student * std::sqrt(squares / static_cast<double>(freedom) / count);
  return made;
}

// The first block of a long enough run has its warm-up. The shares remain those of the whole run.
RunFigures without_warm_up(RunFigures run) {
  if (run.blocks.size() < kLeastBlocks) return run;
  StepBlock steady;
  for (std::size_t i = 1; i < run.blocks.size(); ++i) steady += run.blocks[i];
  if (steady.steps <= 0 || steady.seconds() <= 0) return run;
  run.step_seconds = steady.seconds() / steady.steps;
  if (run.samples_per_s > 0) run.samples_per_s = steady.samples / steady.seconds();
  return run;
}

double samples_per_step(const RunFigures& run) { return run.samples_per_s * run.step_seconds; }

Scaling scaling_by_samples(const std::vector<SizeRuns>& runs) {
  const double least = samples_per_step(runs.front().rounds.front());
  const double most = samples_per_step(runs.back().rounds.front());
  const double ranks = static_cast<double>(runs.back().ranks) / runs.front().ranks;
  return most / least > std::sqrt(ranks) ? Scaling::kWeak : Scaling::kStrong;
}

// Samples a second. Without samples, a step of one rank, or of a strong job, is one sample.
double rate_of(const RunFigures& run, int ranks, bool has_samples, Scaling scaling) {
  if (has_samples) return run.samples_per_s;
  const double work = scaling == Scaling::kWeak ? ranks : 1;
  return work / run.step_seconds;
}

double share_of(const RunFigures& run, Spent spent) {
  const auto found = run.shares.find(std::string(name(spent)));
  return found == run.shares.end() ? 0 : found->second;
}

// y = base + slope * x by least squares; neither is negative.
struct Line {
  double base = 0, slope = 0;
  double at(double x) const { return base + slope * x; }
};

Line fitted(const std::vector<double>& x, const std::vector<double>& y) {
  const auto count = static_cast<double>(x.size());
  const double mean_x = std::accumulate(x.begin(), x.end(), 0.0) / count;
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / count;
  double xx = 0, xy = 0, through_zero_xx = 0, through_zero_xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - mean_x) * (x[i] - mean_x);
    xy += (x[i] - mean_x) * (y[i] - mean_y);
    through_zero_xx += x[i] * x[i];
    through_zero_xy += x[i] * y[i];
  }
  const double slope = xx > 0 ? xy / xx : 0;
  if (slope <= 0) return {.base = mean_y};
  const double base = mean_y - slope * mean_x;
  if (base < 0) return {.slope = through_zero_xx > 0 ? through_zero_xy / through_zero_xx : 0};
  return {.base = base, .slope = slope};
}

double work_of(const std::array<double, kSpents>& parts) {
  return part_of(parts, Spent::kCompute) + part_of(parts, Spent::kInput) +
         part_of(parts, Spent::kOther);
}

// From this size on an operation takes the time of its data, of which each rank moves (n - 1) / n
// or twice that, and not that of its rounds.
constexpr double kLongBytes = 64 * 1024;

bool is_long(const OperationSummary& operation) {
  return operation.count > 0 &&
         static_cast<double>(operation.bytes) >= kLongBytes * static_cast<double>(operation.count);
}

bool moves_long(const SizeRuns& size) {
  double long_seconds = 0, seconds = 0;
  for (const RunFigures& run : size.rounds)
    for (const OperationSummary& operation : run.operations) {
      seconds += operation.exposed_seconds;
      if (is_long(operation)) long_seconds += operation.exposed_seconds;
    }
  return long_seconds > seconds / 2;
}

// Computation of a step that all ranks share falls with their number. The data that a rank moves
// grows with (n - 1) / n. Other times rise with the logarithm, the number of rounds of an
// operation. Ranks wait because the work of others differs, so waits are measured in the ranks' own
// work. Communication begins with two ranks.
double forecast_part(const std::vector<SizeResult>& sizes, Spent spent, Scaling scaling, int ranks,
                     double work) {
  const bool falls = spent == Spent::kCompute && scaling == Scaling::kStrong;
  const bool is_wait = spent == Spent::kWaiting;
  const bool is_data = spent == Spent::kMoving && sizes.back().moves_long;
  const auto form = [falls, is_data](int n) {
    const auto all = static_cast<double>(n);
    return falls ? 1 / all : is_data ? (all - 1) / all : std::log2(all);
  };
  std::vector<double> x, y;
  for (const SizeResult& size : sizes) {
    if ((is_wait || spent == Spent::kMoving) && size.ranks < 2) continue;
    const double unit = is_wait ? work_of(size.parts) : 1;
    if (unit <= 0) continue;
    x.push_back(form(size.ranks));
    y.push_back(part_of(size.parts, spent) / unit);
  }
  return x.empty() ? 0 : fitted(x, y).at(form(ranks)) * (is_wait ? work : 1);
}

Forecast forecast_of(const std::vector<SizeResult>& sizes, Scaling scaling) {
  const SizeResult& first = sizes.front();
  const SizeResult& last = sizes.back();
  Forecast forecast{.ranks = 2 * last.ranks};
  double growth = 0;
  for (const Spent spent :
       {Spent::kCompute, Spent::kInput, Spent::kOther, Spent::kMoving, Spent::kWaiting}) {
    double& part = forecast.parts[static_cast<std::size_t>(spent)];
    part = forecast_part(sizes, spent, scaling, forecast.ranks, work_of(forecast.parts));
    forecast.step_seconds += part;
  }
  for (std::size_t i = 0; i < kSpents; ++i) {
    const double grows =
        forecast.parts[i] / forecast.step_seconds - last.parts[i] / last.step_seconds;
    if (static_cast<Spent>(i) == Spent::kCompute || grows <= growth) continue;
    growth = grows;
    forecast.eater = static_cast<Spent>(i);
  }
  // Work of a step and rank, compared with that of the smallest size.
  const double work =
      scaling == Scaling::kWeak ? 1.0 : static_cast<double>(first.ranks) / forecast.ranks;
  forecast.efficiency = work * first.step_seconds / forecast.step_seconds;
  return forecast;
}

}  // namespace

std::string_view name(Scaling scaling) { return scaling == Scaling::kStrong ? "strong" : "weak"; }

ScalingResult scaling_of(std::vector<SizeRuns> runs, std::optional<Scaling> stated) {
  std::ranges::sort(runs, {}, &SizeRuns::ranks);
  for (SizeRuns& size : runs)
    for (RunFigures& run : size.rounds) run = without_warm_up(std::move(run));
  ScalingResult result;
  result.has_samples = std::ranges::all_of(runs, [](const SizeRuns& size) {
    return std::ranges::all_of(size.rounds,
                               [](const RunFigures& run) { return run.samples_per_s > 0; });
  });
  result.scaling = stated               ? *stated
                   : result.has_samples ? scaling_by_samples(runs)
                                        : Scaling::kStrong;
  const SizeRuns& least = runs.front();
  for (const SizeRuns& size : runs) {
    SizeResult made{.ranks = size.ranks};
    std::vector<double> rates, efficiencies;
    const auto rounds = static_cast<double>(size.rounds.size());
    for (std::size_t round = 0; round < size.rounds.size(); ++round) {
      const RunFigures& run = size.rounds[round];
      const auto rate = [&](const RunFigures& one, int ranks) {
        return rate_of(one, ranks, result.has_samples, result.scaling);
      };
      rates.push_back(rate(run, size.ranks));
      const double a_rank = rates.back() / size.ranks;
      efficiencies.push_back(a_rank / (rate(least.rounds[round], least.ranks) / least.ranks));
      made.step_seconds += run.step_seconds / rounds;
      for (std::size_t i = 0; i < kSpents; ++i)
        made.parts[i] += share_of(run, static_cast<Spent>(i)) * run.step_seconds / rounds;
    }
    made.rate = estimate(rates);
    made.efficiency = estimate(efficiencies);
    made.moves_long = moves_long(size);
    result.sizes.push_back(made);
  }
  if (result.sizes.size() >= 3) result.forecast = forecast_of(result.sizes, result.scaling);
  return result;
}

}  // namespace paceline::launcher
