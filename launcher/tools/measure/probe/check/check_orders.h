// What the ranks of a check are told to do: "check name=value…" on their command line. Pure.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

namespace paceline::probe {

/// Times in milliseconds.
struct CheckOrders {
  int flow_ms = 1000;     ///< each flow
  int ping_ms = 100;      ///< each latency
  int spin_ms = 400;      ///< each host's CPU
  int reduce_ms = 500;    ///< each size of an all-reduce; 0: none are measured
  int again = 4;          ///< how often what was slow is measured again, at most
  bool both_ways = true;  ///< whether flows both ways at once are measured, too

  bool operator==(const CheckOrders&) const = default;
};

/// The first of the words.
inline constexpr const char* kCheckMode = "check";

std::vector<std::string> to_words(const CheckOrders& orders);
/// Of the words behind the first one. An error names the word.
Result<CheckOrders> parse_check_orders(std::span<const std::string> words);

}  // namespace paceline::probe
