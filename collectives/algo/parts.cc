#include "collectives/algo/parts.h"

#include <utility>

#include "comm/base/assert.h"

namespace paceline {

Part part_of(std::size_t count, int parts, int index) {
  PACELINE_ASSERT(parts > 0);
  const std::size_t place = static_cast<std::size_t>((index % parts + parts) % parts);
  const std::size_t shortest = count / static_cast<std::size_t>(parts);
  const std::size_t longer = count % static_cast<std::size_t>(parts);
  return {.offset = place * shortest + std::min(place, longer),
          .count = shortest + (place < longer ? 1 : 0)};
}

std::size_t segments_in(std::size_t count, std::size_t segment_count) {
  PACELINE_ASSERT(segment_count > 0);
  return count / segment_count + (count % segment_count == 0 ? 0 : 1);
}

Sends sends_of(std::size_t count, std::size_t segment_count) {
  return {.count = count, .messages = segments_in(count, segment_count)};
}

std::vector<Part> segments_of(const Part& part, std::size_t segment_count) {
  std::vector<Part> segments(segments_in(part.count, segment_count));
  std::size_t done = 0;
  for (Part& segment : segments) {
    segment = {part.offset + done, std::min(segment_count, part.count - done)};
    done += segment.count;
  }
  return segments;
}

std::size_t pipelined_count(std::size_t count, int rounds, std::size_t segment_count) {
  constexpr std::size_t kMessagesPerRound = 4;
  const std::size_t messages = kMessagesPerRound * static_cast<std::size_t>(rounds);
  return std::min(segment_count, std::max<std::size_t>(count / messages, 1));
}

Span ScratchSlots::next() {
  if (slots_.size() < kSlots) slots_.push_back(builder_.reserve_scratch(slot_count_));
  return slots_[taken_++ % kSlots];
}

std::size_t PieceSlots::piece_count(std::size_t segment_count, std::size_t senders) {
  const std::size_t pieces = kAtOnce * std::max<std::size_t>(senders, 1);
  return std::max<std::size_t>(1, ScratchSlots::kSlots * segment_count / pieces);
}

PieceSlots::PieceSlots(PlanBuilder& builder, std::size_t slot_count, std::size_t senders)
    : senders_(senders) {
  for (std::size_t i = 0; i < kAtOnce * senders; ++i) {
    slots_.push_back(builder.reserve_scratch(slot_count));
  }
}

Plan plan_alone(const PlanRequest& request) {
  PlanBuilder builder(request);
  builder.copy({.target = output(0), .from = input(0), .count = shape_of(request).output_count});
  return std::move(builder).finish();
}

}  // namespace paceline
