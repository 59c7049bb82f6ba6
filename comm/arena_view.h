// The arena of another process of this host (comm/memory_domain.h), mapped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <paceline/status.h>

#include "comm/base/unique_fd.h"

namespace paceline {

/// Mapped once, for all who ask for it, until nobody has it any more. A fork does not inherit it.
class ArenaView {
 public:
  /// Of a MemoryDomain's file, which may be this process's own: ranks that are threads write into
  /// each other's buffers by another way than their owners do, too.
  static Result<std::shared_ptr<const ArenaView>> open(UniqueFd file);
  ~ArenaView();
  ArenaView(const ArenaView&) = delete;
  ArenaView& operator=(const ArenaView&) = delete;

  bool has(std::uint64_t place, std::size_t bytes) const {
    return place <= length_ && bytes <= length_ - place;
  }
  std::byte* at(std::uint64_t place) const { return begin_ + place; }

 private:
  ArenaView(std::byte* begin, std::size_t length) : begin_(begin), length_(length) {}

  std::byte* const begin_;
  const std::size_t length_;
};

class MemoryDomain;

/// What the ranks of a host reach of each other's memory.
struct Arenas {
  MemoryDomain* own = nullptr;                          ///< borrowed; null where there are none
  std::vector<std::shared_ptr<const ArenaView>> views;  ///< by rank
};

}  // namespace paceline
