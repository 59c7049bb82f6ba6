#include "telemetry/job/sample_reader.h"

#include <algorithm>
#include <cstddef>

namespace paceline {

void SampleReader::keep_only(std::span<const GroupOperations> groups) {
  std::erase_if(known_, [&groups](const auto& one) {
    return std::ranges::find(groups, one.first, &GroupOperations::id) == groups.end();
  });
}

RankSamples SampleReader::take(const GroupOperations& group, std::size_t most) {
  Known& known = known_[group.id];
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
  std::size_t lowest = fresh.size(), count = 0;
  while (lowest > 0) {
    const std::size_t its = fresh[lowest - 1];
    if (its == OperationBook::kKept || count + its > most) break;
    count += its;
    --lowest;
  }
  known.lowest[known.calls++ % known.lowest.size()] = lowest;
  lowest = *std::ranges::max_element(known.lowest);
  RankSamples chosen{
      .group = group.id, .size = group.size, .weight = std::uint64_t{1} << lowest, .samples = {}};
  for (const OperationSample& one : group.samples) {
    const std::size_t level = level_of(one);
    if (level >= lowest && one.sequence >= known.next[level]) chosen.samples.push_back(one);
  }
  known.next = next;
  return chosen;
}

}  // namespace paceline
