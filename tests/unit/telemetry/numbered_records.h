// Records of which each field follows from a number, so that a torn or misplaced one shows.
#pragma once

#include <cstdint>
#include <vector>

#include "telemetry/flight_ring.h"

namespace paceline::testing {

inline FlightRecord numbered_record(std::uint64_t number) {
  FlightRecord record;
  record.signature = {.sequence = number,
                      .count = 3 * number,
                      .root = static_cast<std::int32_t>(number % 1000),
                      .kind = OperationKind::kAllReduce,
                      .type = DataType::kFloat32,
                      .op = ReduceOp::kSum,
                      .plan = static_cast<std::uint32_t>(number)};
  record.began_ns = static_cast<std::int64_t>(number);
  return record;
}

inline TimePoint end_of(std::uint64_t number) {
  return TimePoint(std::chrono::nanoseconds(number + 1));
}

inline std::uint64_t start_numbered(FlightRing& ring, std::uint64_t number) {
  const FlightRecord record = numbered_record(number);
  return ring.start(record.signature, TimePoint(std::chrono::nanoseconds(record.began_ns)));
}

/// Starts the record of `number` and, where that is even, finishes it.
inline void write_numbered(FlightRing& ring, std::uint64_t number) {
  const std::uint64_t place = start_numbered(ring, number);
  if (number % 2 == 0) ring.finish(place, FlightState::kSucceeded, end_of(number));
}

/// Is each record as write_numbered() leaves it, or about to be, and none older than the one
/// before it?
inline bool whole_and_in_order(const std::vector<FlightRecord>& records) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const FlightRecord& record = records[i];
    const std::uint64_t number = record.signature.sequence;
    const FlightRecord expected = numbered_record(number);
    const bool running = record.state == FlightState::kStarted && record.ended_ns == 0;
    const bool ended = record.state == FlightState::kSucceeded && number % 2 == 0 &&
                       record.ended_ns == static_cast<std::int64_t>(number + 1);
    if (!(record.signature == expected.signature)) return false;
    if (record.began_ns != expected.began_ns || !(running || ended)) return false;
    if (i > 0 && number <= records[i - 1].signature.sequence) return false;
  }
  return true;
}

}  // namespace paceline::testing
