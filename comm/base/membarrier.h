// Fences of which one side costs nothing: membarrier(2).
//
// Where two threads each write and then look at what the other writes (Dekker's algorithm), both
// need a full fence in between. If one of them hardly ever comes, it can pass a barrier on behalf
// of the other instead, which then only keeps the compiler from reordering.
#pragma once

#include <atomic>
#include <cstdint>

namespace paceline {

/// On whose behalf a barrier is passed.
enum class BarrierScope : std::uint8_t {
  kProcess,  ///< all threads of this process
  kMachine,  ///< all threads of all processes that are registered
};

/// Threads of this process may rely on others' barriers from now on. False where the kernel has no
/// such thing, or forbids it.
bool register_for_barriers(BarrierScope scope);

/// Every thread in scope has passed a full fence between the beginning and the end of this call.
void pass_barrier(BarrierScope scope);

/// What is left of the fence of those for whom others pass barriers.
inline void compiler_fence() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace paceline
