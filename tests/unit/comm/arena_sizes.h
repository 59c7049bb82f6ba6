// Arenas of this folder's tests.
#pragma once

#include <cstddef>

#include "comm/memory_domain.h"

namespace paceline::testing {

inline constexpr std::size_t kPage = MemoryDomain::kPage;
inline constexpr std::size_t kArena = std::size_t{64} << 20;

}  // namespace paceline::testing
