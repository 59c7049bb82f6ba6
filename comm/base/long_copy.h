// Copies long arrays between ranks of a host.
#pragma once

#include <cstddef>

namespace paceline {

/// Arrays from this length on are out of the caches before anybody reads them again. 2 ranks on an
/// AMD EPYC, in turn without: 32 MiB 1.02 (all_reduce out of place) to 1.25 times as fast, 128
/// MiB 1.08 to 1.39; a broadcast of 8 MiB was 0.75 times as fast.
inline constexpr std::size_t kStreamedBytes = std::size_t{16} << 20;

/// memcpy() that writes past the caches, so that lines are not read before they are written. What
/// is written is there for other threads behind the next stream_fence(), and a release behind that.
/// (glibc's own does so only from three quarters of the last cache on, and virtual machines show a
/// whole host's.)
void stream_copy(void* to, const void* from, std::size_t bytes);
/// It waits until all is written: once for many pieces, not after each.
void stream_fence();

/// Of arrays of `array_bytes` some bytes, between ranks whose caches have these lines: past them
/// where the arrays are long, else by memcpy() in short pieces. By pieces of 1 MiB a broadcast of 4
/// or 8 MiB took 2 ranks 5 times as long while a flag needed 0.35 us between their CPUs, and 0.96
/// to 1.12 times while it needed 0.1 us. (Up to the size of a second-level cache glibc 2.36 copies
/// by rep movsb, which need not fetch lines that it overwrites whole: likely the cause, not
/// proven.)
void long_copy(void* to, const void* from, std::size_t bytes, std::size_t array_bytes);

}  // namespace paceline
