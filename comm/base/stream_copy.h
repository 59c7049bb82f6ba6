// Copies what is longer than caches are.
#pragma once

#include <cstddef>

namespace paceline {

/// Arrays from this length on are out of the caches before anybody reads them again. 2 ranks on an
/// AMD EPYC, in turn without: 32 MiB 1.02 (all_reduce out of place) to 1.25 times as fast, 128
/// MiB 1.08 to 1.39; a broadcast of 8 MiB was 0.75 times as fast.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

/// memcpy() that writes past the caches, so that lines are not read before they are written. What
/// is written is there for other threads behind the next release. (glibc's own does so only from
/// three quarters of the last cache on, and virtual machines show a whole host's.)
void stream_copy(void* to, const void* from, std::size_t bytes);

}  // namespace paceline
