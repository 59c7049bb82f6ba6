// futex(2) on a word that several processes share.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace paceline::probe {

/// Returns when the word is woken, after a second, or at once where it is not `value`.
inline void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  constexpr timespec kNap{.tv_sec = 1, .tv_nsec = 0};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &kNap, nullptr, 0);
}

inline void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace paceline::probe
