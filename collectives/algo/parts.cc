#include "collectives/algo/parts.h"

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

Sends sends_of_parts(std::size_t count, int parts, std::size_t segment_count) {
  const std::size_t all = static_cast<std::size_t>(parts), longer = count % all;
  return longer * sends_of(count / all + 1, segment_count) +
         (all - longer) * sends_of(count / all, segment_count);
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

}  // namespace paceline
