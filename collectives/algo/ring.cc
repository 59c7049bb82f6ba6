#include "collectives/algo/ring.h"

#include <algorithm>
#include <utility>

#include "collectives/algo/parts.h"
#include "collectives/plan/builder.h"

namespace paceline {
namespace {

class Ring {
 public:
  explicit Ring(const PlanRequest& request)
      : request_(request),
        right_((request.rank + 1) % request.ranks),
        left_((request.rank + request.ranks - 1) % request.ranks),
        builder_(request),
        slots_(builder_, std::min(part(0).count, request.segment_count)) {}

  /// Part `rank` leaves as it is; each later round passes on what the one before has reduced.
  void reduce_scatter() {
    for (int round = 0; round + 1 < request_.ranks; ++round) {
      for (const Part& segment : segments(request_.rank - round)) {
        const Span source = round == 0 ? input(segment.offset) : output(segment.offset);
        builder_.send(right_, source, segment.count);
      }
      for (const Part& segment : segments(request_.rank - round - 1)) {
        const Span slot = slots_.next();
        builder_.recv(left_, slot, segment.count);
        builder_.reduce({.target = output(segment.offset),
                         .operands = {slot, input(segment.offset)},
                         .count = segment.count,
                         .contributions = {round + 1, 1}});
      }
    }
  }

  /// Part `rank + 1` is complete here.
  void all_gather() {
    for (int round = 0; round + 1 < request_.ranks; ++round) {
      for (const Part& segment : segments(request_.rank + 1 - round)) {
        builder_.send(right_, output(segment.offset), segment.count);
      }
      for (const Part& segment : segments(request_.rank - round)) {
        builder_.recv(left_, output(segment.offset), segment.count);
      }
    }
  }

  Plan finish() { return std::move(builder_).finish(); }

 private:
  Part part(int index) const { return part_of(request_.count, request_.ranks, index); }
  std::vector<Part> segments(int index) const {
    return segments_of(part(index), request_.segment_count);
  }

  const PlanRequest& request_;
  int right_;
  int left_;
  PlanBuilder builder_;
  ScratchSlots slots_;
};

}  // namespace

Plan plan_ring(const PlanRequest& request) {
  Ring ring(request);
  ring.reduce_scatter();
  ring.all_gather();
  return ring.finish();
}

// Rank r sends every part but r + 1 in the reduce-scatter and every part but r + 2 in the
// all-gather. The rank that sends most leaves out the two shortest: the last two parts.
Cost cost_of_ring(const PlanRequest& request) {
  const int n = request.ranks;
  if (request.count == 0) return {};
  const auto length = [&](int index) { return part_of(request.count, n, index).count; };
  const auto sends = [&](int index) { return sends_of(length(index), request.segment_count); };
  HostLines lines(n, request.hosts);
  for (int rank = 0; rank < n; ++rank)
    lines.add(rank, (rank + 1) % n, 2 * request.count - length(rank + 1) - length(rank + 2));
  const Sends sent =
      2 * sends_of_parts(request.count, n, request.segment_count) - sends(-1) - sends(-2);
  return {.rounds = 2 * static_cast<std::size_t>(n - 1),
          .messages = sent.messages,
          .count_sent = sent.count,
          .count_reduced = request.count - length(-1),
          .count_between_hosts = lines.most()};
}

}  // namespace paceline
