// The arguments of `paceline bench`. Pure: nothing is read but what is passed in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <paceline/status.h>

#include "launcher/tools/measure/probe/loop/orders.h"

namespace paceline::launcher {

struct BenchRequest {
  probe::Orders orders;
  int ranks = 2;
  std::string backend;               ///< auto, shm, tcp or raw; empty: not said
  std::string json_file;             ///< empty: none
  std::vector<std::string> against;  ///< names of contenders; empty: measure ours alone
  int pairs = 21;
  bool limits_time = false;  ///< --time was given

  bool operator==(const BenchRequest&) const = default;
};

/// `arguments` begin after the word bench. An error says which word is wrong, and what was likely
/// meant.
Result<BenchRequest> parse_bench(std::span<const std::string> arguments);

/// One screen.
std::string bench_help();

/// "4K" to 4096; K, M and G are powers of 1024.
Result<std::size_t> parse_size(const std::string& text);

}  // namespace paceline::launcher
