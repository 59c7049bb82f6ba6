#include "telemetry/job/sample_reader.h"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace paceline {

RankSamples SampleReader::take(const GroupOperations& group) {
  Known& known = known_[group.group];
  std::array<std::size_t, OperationBook::kLevels> fresh{};
  std::array<std::uint64_t, OperationBook::kLevels> next = known.next;
  const auto level_of = [](const OperationSample& one) {
    return static_cast<std::size_t>(OperationBook::level_of(one.sequence));
  };
  for (const OperationSample& one : group.samples) {
    const std::size_t level = level_of(one);
    if (one.sequence < known.next[level]) continue;
    ++fresh[level];
    next[level] = std::max(next[level], one.sequence + 1);
  }
  // A level that is full of new samples may have lost some.
  const auto full = std::find(fresh.rbegin(), fresh.rend(), OperationBook::kKept);
  const auto lowest = static_cast<std::size_t>(std::distance(full, fresh.rend()));
  RankSamples chosen{.group = group.group, .weight = std::uint64_t{1} << lowest, .samples = {}};
  for (const OperationSample& one : group.samples) {
    const std::size_t level = level_of(one);
    if (level >= lowest && one.sequence >= known.next[level]) chosen.samples.push_back(one);
  }
  known.next = next;
  return chosen;
}

}  // namespace paceline
