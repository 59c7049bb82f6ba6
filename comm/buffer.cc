#include <paceline/buffer.h>

#include "comm/base/try.h"
#include "comm/memory_domain.h"

namespace paceline {

Result<Buffer> Buffer::allocate(std::size_t bytes) {
  PACELINE_TRY_ASSIGN(const std::span<std::byte> memory,
                      MemoryDomain::of_process().allocate(bytes));
  return Buffer(memory);
}

Buffer::~Buffer() {
  if (data() != nullptr) detail::free_buffer(data());
}

Result<Registration> Registration::make(std::span<std::byte> memory) {
  PACELINE_TRY(MemoryDomain::of_process().take_over(memory));
  return Registration(memory);
}

Registration::~Registration() {
  if (!memory_.empty()) (void)MemoryDomain::of_process().hand_back(memory_.data());
}

namespace detail {

void* allocate_buffer(std::size_t bytes) noexcept {
  const auto memory = MemoryDomain::of_process().allocate(bytes);
  return memory.ok() ? memory->data() : nullptr;
}

// What an operation uses stays: to lose memory is better than to lose what is in it.
void free_buffer(void* memory) noexcept { (void)MemoryDomain::of_process().free(memory); }

}  // namespace detail
}  // namespace paceline
