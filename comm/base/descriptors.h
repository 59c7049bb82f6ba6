// The file descriptors that this process may have (RLIMIT_NOFILE).
#pragma once

#include <cstdint>

namespace paceline {

struct Descriptors {
  std::uint64_t limit = 0;
  std::uint64_t used = 0;

  std::uint64_t left() const { return limit > used ? limit - used : 0; }
};

/// Counts those in use: about 1 us for each. If /proc cannot be read, none is in use.
Descriptors descriptors();

/// True if the error is a lack of file descriptors, of this process or of the machine.
bool lacks_descriptors(int error);

}  // namespace paceline
