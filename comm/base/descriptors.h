// The file descriptors that this process may have (RLIMIT_NOFILE).
#pragma once

#include <cstdint>

namespace paceline {

/// The max number; 0 if it cannot be read.
std::uint64_t descriptor_limit();

/// True if the error is a lack of file descriptors, of this process or of the machine.
bool lacks_descriptors(int error);

}  // namespace paceline
