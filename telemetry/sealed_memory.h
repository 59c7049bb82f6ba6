// Shared memory of a fixed size and layout, between a rank that writes and its agent that reads.
#pragma once

#include <cstddef>
#include <cstdint>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline {

/// What the memory is, and which version of its layout. It begins with `magic` and `bytes`.
struct SealedLayout {
  const char* name;  ///< for errors: "flight ring"
  std::uint64_t magic;
  std::size_t bytes;
};

/// Zeros after the first two words, close-on-exec. Its size cannot change: a rank that cut the
/// memory would end its reader by SIGBUS.
Result<UniqueFd> create_sealed_memory(const SealedLayout& layout);
/// Maps the memory in `fd`, which stays the caller's. The caller unmaps it. Refuses memory of
/// another size or layout.
Result<void*> map_sealed_memory(int fd, const SealedLayout& layout);

}  // namespace paceline
