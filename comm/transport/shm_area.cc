#include "comm/transport/shm_area.h"

#include <new>
#include <string>

#include "comm/base/assert.h"

namespace paceline {
namespace {

Status unfit(const std::string& why) {
  return Status(Code::kInvalidArgument, Scope::kGroup,
                "shared memory for the rings between ranks: " + why);
}

}  // namespace

std::size_t ShmArea::bytes_for(int ranks, std::size_t ring_bytes) {
  const auto count = static_cast<std::size_t>(ranks);
  return count * (count - 1) * (ByteRing::bytes_for(ring_bytes) + sizeof(LoanLine));
}

Result<ShmArea> ShmArea::over(std::span<std::byte> memory, int ranks, std::size_t ring_bytes) {
  if (ranks < 1) return unfit("there are no ranks");
  if (ring_bytes < 64 || (ring_bytes & (ring_bytes - 1)) != 0) {
    return unfit("a ring of " + std::to_string(ring_bytes) +
                 " bytes is not allowed; use a power of two, 64 or more");
  }
  if (memory.size() < bytes_for(ranks, ring_bytes)) {
    return unfit(std::to_string(memory.size()) + " bytes are too few: " + std::to_string(ranks) +
                 " ranks with rings of " + std::to_string(ring_bytes) + " bytes need " +
                 std::to_string(bytes_for(ranks, ring_bytes)));
  }
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(LoanLine) != 0) {
    return unfit("its address is not aligned to a cache line");
  }
  return ShmArea(memory, ranks, ring_bytes);
}

std::size_t ShmArea::index_of(int from, int to) const {
  PACELINE_ASSERT(from != to && from >= 0 && from < ranks_ && to >= 0 && to < ranks_);
  const int row = from * (ranks_ - 1);
  const int column = to < from ? to : to - 1;
  return static_cast<std::size_t>(row + column);
}

ByteRing ShmArea::ring(int from, int to) const {
  const std::size_t bytes = ByteRing::bytes_for(ring_bytes_);
  return ByteRing(memory_.subspan(rings_begin() + index_of(from, to) * bytes, bytes));
}

ShmArea::LoanLine& ShmArea::loans(int from, int to) const {
  return std::launder(reinterpret_cast<LoanLine*>(memory_.data()))[index_of(from, to)];
}

}  // namespace paceline
