#include "telemetry/job/straggler.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>

namespace paceline {
namespace {

// Shorter waits are the noise of a healthy job.
constexpr double kLeastWait = 0.05;
// A straggler is waited for so much more than the mean of the other ranks.
constexpr double kTimesOthers = 3;
// A cause explains at least so much of the delay.
constexpr double kLeastExplained = 0.3;
constexpr double kManyFaultsPerS = 20;

using Field = double RankEvidence::*;

// How much more a rank has of something than the other ranks, by their median.
double excess(const std::vector<RankEvidence>& ranks, std::size_t rank, Field field) {
  std::vector<double> others;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (i != rank) others.push_back(ranks[i].*field);
  const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
  std::nth_element(others.begin(), middle, others.end());
  return ranks[rank].*field - *middle;
}

// The time that the rank had no CPU or was stopped is part of its computation, input or other work.
// The rest of these is its own.
Cause cause_of(const std::vector<RankEvidence>& ranks, std::size_t rank) {
  const double needed = kLeastExplained * ranks[rank].waited_for;
  const auto more = [&](Field field) { return std::max(0.0, excess(ranks, rank, field)); };
  const double stopped = more(&RankEvidence::stopped);
  const double queued = more(&RankEvidence::queued);
  const double blocked = more(&RankEvidence::blocked);
  const double input = more(&RankEvidence::input);
  const double compute = more(&RankEvidence::compute);
  const double other = more(&RankEvidence::other);
  const double own_work = input + compute + other - stopped - queued;
  if (const double held = std::max(stopped, queued); held >= needed && held >= own_work) {
    if (stopped > queued) return Cause::kStopped;
    const RankEvidence& own = ranks[rank];
    return own.throttled >= kLeastExplained * own.queued ? Cause::kThrottled : Cause::kNoCpu;
  }
  if (std::max({blocked, input, compute, other}) < needed) return Cause::kUnknown;
  if (more(&RankEvidence::major_faults_per_s) >= kManyFaultsPerS) return Cause::kMemory;
  if (other >= std::max({input, compute, needed})) return Cause::kOther;
  if (input >= compute && input >= needed) return Cause::kInput;
  return blocked >= needed ? Cause::kBlocked : Cause::kComputesLonger;
}

}  // namespace

std::string_view words_of(Cause cause) {
  switch (cause) {
    case Cause::kUnknown:
      return "";
    case Cause::kComputesLonger:
      return "its computation took longer";
    case Cause::kInput:
      return "its input took longer";
    case Cause::kThrottled:
      return "its control group throttled its CPUs";
    case Cause::kNoCpu:
      return "other threads used its CPUs";
    case Cause::kStopped:
      return "it was stopped";
    case Cause::kMemory:
      return "its memory was read from disk again";
    case Cause::kBlocked:
      return "it was blocked in the kernel";
    case Cause::kLink:
      return "data for it came over a slow link";
    case Cause::kOther:
      return "its other work took longer";
  }
  return "";
}

std::optional<Cause> cause_of_words(std::string_view words) {
  for (auto cause = Cause::kComputesLonger; cause <= Cause::kOther;
       cause = static_cast<Cause>(static_cast<int>(cause) + 1))
    if (words_of(cause) == words) return cause;
  return std::nullopt;
}

std::vector<Straggler> find_stragglers(const std::vector<RankEvidence>& ranks) {
  std::vector<Straggler> found;
  if (ranks.size() < 2) return found;
  const double all =
      std::accumulate(ranks.begin(), ranks.end(), 0.0,
                      [](double sum, const RankEvidence& rank) { return sum + rank.waited_for; });
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const double own = ranks[rank].waited_for;
    const double others = (all - own) / static_cast<double>(ranks.size() - 1);
    if (own < kLeastWait || own < kTimesOthers * others) continue;
    found.push_back(
        {.rank = static_cast<int>(rank), .waited_for = own, .cause = cause_of(ranks, rank)});
  }
  std::ranges::stable_sort(found, std::greater(), &Straggler::waited_for);
  return found;
}

}  // namespace paceline
