// What was measured at one size, and the line in which rank 0 says it. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace paceline::probe {

struct Row {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;    ///< elements
  std::uint64_t samples = 0;  ///< how often it was measured
  std::uint64_t batch = 1;    ///< calls in a sample
  double p50_ns = 0;          ///< of a call
  double p99_ns = 0;
  std::int64_t wrong = -1;  ///< elements on all ranks, of all calls looked at; -1: nobody looked
  double limit_ns = 0;      ///< what memory and flags allow; 0: not known

  bool operator==(const Row&) const = default;
};

/// What else rank 0 says, where programs measure in turn: that all of its ranks are there, and that
/// it has prepared a size.
inline constexpr const char* kReady = "ready";
inline constexpr const char* kPrepared = "prepared";

/// "row 4 1 …": numbers in the order of the fields.
std::string to_line(const Row& row);
/// Nothing where the line is none of these.
std::optional<Row> parse_row(std::string_view line);

}  // namespace paceline::probe
