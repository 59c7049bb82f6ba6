#include "collectives/pinned_memory.h"

#include <algorithm>
#include <bit>

#include <sys/mman.h>

#include "comm/base/try.h"

namespace paceline {

PinnedMemory::PinnedMemory(Device& device) : device_(device), domain_(MemoryDomain::of_process()) {}

PinnedMemory::~PinnedMemory() {
  if (is_left_behind_) return;
  for (const std::span<std::byte> memory : spare_) {
    device_.unpin(memory);
    free(memory);
  }
}

Result<std::span<std::byte>> PinnedMemory::take(std::size_t bytes) {
  const auto fits = [bytes](std::span<std::byte> one) { return one.size() >= bytes; };
  if (const auto found = std::ranges::find_if(spare_, fits); found != spare_.end()) {
    const std::span<std::byte> memory = *found;
    spare_.erase(found);
    return memory;
  }
  PACELINE_TRY_ASSIGN(const std::span<std::byte> memory, allocate(std::bit_ceil(bytes)));
  if (const Status pinned = device_.pin(memory); !pinned.ok()) {
    free(memory);
    return pinned;
  }
  return memory;
}

Result<std::span<std::byte>> PinnedMemory::allocate(std::size_t bytes) {
  auto shared = domain_.allocate(bytes);
  if (shared.ok()) return shared;
  void* const own =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (own == MAP_FAILED) return shared;
  // After a fork, a write of the parent would move its pages away from under the device.
  ::madvise(own, bytes, MADV_DONTFORK);
  return std::span(static_cast<std::byte*>(own), bytes);
}

void PinnedMemory::free(std::span<std::byte> memory) {
  if (domain_.place_of(memory.data(), memory.size())) {
    (void)domain_.free(memory.data());
  } else {
    ::munmap(memory.data(), memory.size());
  }
}

}  // namespace paceline
