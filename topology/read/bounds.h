// What no host has more of: a description that names more is refused, whoever wrote it.
#pragma once

#include <cstddef>

namespace paceline::topology {

inline constexpr std::size_t kMostGpus = 1024, kMostNics = 4096;
inline constexpr unsigned kMostNvlinks = 36;  // of a GPU
inline constexpr int kMostLinks = 1024;       ///< of a pair of devices

}  // namespace paceline::topology
