// Copies what is longer than caches are.
#pragma once

#include <cstddef>

namespace paceline {

/// Messages from this length on are out of the caches before anybody reads them again. 2 ranks that
/// exchange 16 MiB on an AMD EPYC took 1.6 times as long without; 4 MiB took the same.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

/// memcpy() that writes past the caches, so that lines are not read before they are written. What
/// is written is there for other threads behind the next release. (glibc's own does so only from
/// three quarters of the last cache on, and virtual machines show a whole host's.)
void stream_copy(void* to, const void* from, std::size_t bytes);

}  // namespace paceline
