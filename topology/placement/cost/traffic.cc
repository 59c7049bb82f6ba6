#include "topology/placement/cost/traffic.h"

#include "comm/base/text.h"

namespace paceline::topology {
namespace {

TrafficPart part_of(const Dimension& dimension, int stride) {
  const int size = dimension.size;
  TrafficPart part{
      .traffic = dimension.traffic, .size = size, .stride = stride, .mb = dimension.mb_a_step};
  std::string how;
  switch (dimension.traffic) {
    case Traffic::kAllReduce:
      how = "all-reduce of ";
      part.rounds = 2 * (size - 1);
      part.mb *= 2.0 * (size - 1) / size;
      break;
    case Traffic::kNeighbours:
      how = "neighbours among ";
      part.rounds = 2;
      break;
    case Traffic::kAllToAll:
      how = "all-to-all of ";
      part.rounds = size - 1;
      part.mb /= size;
      break;
  }
  part.what = dimension.name + ": " + how + std::to_string(size) + " ranks, " +
              with_unit(dimension.mb_a_step, "MB each");
  return part;
}

}  // namespace

std::vector<TrafficPart> parts_of(const JobShape& job) {
  std::vector<TrafficPart> parts;
  int stride = 1;
  for (std::size_t i = 0; i < job.dimensions.size(); ++i) {
    const Dimension& dimension = job.dimensions[i];
    const bool is_carried = job.servers > 0 && i == carried_by_servers(job);
    if (dimension.size > 1 && !is_carried) parts.push_back(part_of(dimension, stride));
    stride *= dimension.size;
  }
  return parts;
}

}  // namespace paceline::topology
