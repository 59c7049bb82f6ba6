// What `paceline tune` has measured on a machine: up to how many bytes operations go by one method
// and not the next (method.h). As text it is a file of its own, and what rank 0 tells the others.
#pragma once

#include <array>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <paceline/status.h>
#include <paceline/types.h>

#include "collectives/backend/shm/method.h"

namespace paceline::shm {

/// Of contributions to operations of one kind between so many ranks.
struct TunedSize {
  OperationKind kind{};
  int ranks = 2;
  Limit limit{};
  std::size_t most_bytes = 0;

  bool operator==(const TunedSize&) const = default;
};

struct Tuning {
  std::string machine;  ///< its fingerprint, comm/base/machine.h
  std::vector<TunedSize> sizes;

  bool operator==(const Tuning&) const = default;
};

/// "paceline-tuning 1", "machine 0123456789abcdef", and a line "all_reduce 2 buffers 4096" for each
/// size: of the kind, ranks and limit (ordinary, buffers, staged), bytes.
std::string to_text(const Tuning& tuning);
/// Its inverse; empty lines and those that begin with # do not count. An error names the line.
Result<Tuning> parse_tuning(std::string_view text);
/// What is in it for so many ranks.
Tuning part_for(const Tuning& tuning, int ranks);
/// A limit that the tuning does not have stays empty.
MeasuredSizes sizes_for(const Tuning& tuning, int ranks);

}  // namespace paceline::shm
