// Memory that callers hand in: does what is written touch anything else?
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace paceline {

/// Bytes from an address, none where `bytes` is zero.
struct ByteRange {
  ByteRange(const void* begin, std::size_t size)
      : address(reinterpret_cast<std::uintptr_t>(begin)), bytes(size) {}

  std::uintptr_t end() const { return address + bytes; }

  std::uintptr_t address;
  std::size_t bytes;
};

inline bool overlap(const ByteRange& a, const ByteRange& b) {
  return a.address < b.end() && b.address < a.end();
}

/// Buffers of one call, some of them written.
class ByteRangeSet {
 public:
  void read(const void* begin, std::size_t bytes) { add({begin, bytes}, false); }
  void write(const void* begin, std::size_t bytes) { add({begin, bytes}, true); }

  /// Is anything written that is written or read elsewhere?
  bool is_disturbed() {
    std::ranges::sort(uses_, {}, [](const Use& use) { return use.range.address; });
    std::uintptr_t read_until = 0, written_until = 0;  // by what begins before
    for (const Use& use : uses_) {
      const std::uintptr_t begin = use.range.address;
      if (begin < written_until || (use.is_written && begin < read_until)) return true;
      std::uintptr_t& until = use.is_written ? written_until : read_until;
      until = std::max(until, use.range.end());
    }
    return false;
  }

 private:
  struct Use {
    ByteRange range;
    bool is_written;
  };
  void add(const ByteRange& range, bool is_written) {
    if (range.bytes > 0) uses_.push_back({range, is_written});
  }

  std::vector<Use> uses_;
};

}  // namespace paceline
